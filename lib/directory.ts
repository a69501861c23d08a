/**
 * Whole directories, from and to this machine.
 *
 * @internal
 */
import { mkdir, readdir, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { CallOptions } from "./call-options.js";
import { InvalidOptionError, NetworkError } from "./errors.js";
import type { FileInfo, FilesystemNamespace } from "./filesystem.js";

/** How far a transfer is. */
export interface TransferProgress {
  /** The file that was transferred last, relative to the directory. */
  path: string;
  /** Files that are there. */
  files: number;
  /** All files. */
  totalFiles: number;
  /** Bytes that are there. */
  bytes: number;
  /** All bytes, as they were when the transfer began. */
  totalBytes: number;
}

/** Options of a directory's transfer. */
export interface TransferOptions extends CallOptions {
  /** Told after every file. One that throws ends the transfer. */
  onProgress?: (progress: TransferProgress) => void;
}

/** Files that are transferred at once. */
const AT_ONCE = 4;

/** Deepest directory that is followed. */
const MAX_DEPTH = 100;

/** Most files of one transfer. */
const MAX_FILES = 100_000;

interface Entry {
  path: string;
  size: number;
}

interface Tree {
  dirs: string[];
  files: Entry[];
}

/** Copies a local directory into the sandbox. Links are left out. */
export async function uploadDirectory(
  filesystem: FilesystemNamespace,
  localPath: string,
  path: string,
  { onProgress, ...call }: TransferOptions,
): Promise<void> {
  if (!(await stat(localPath)).isDirectory()) throw new InvalidOptionError(`not a directory: \`${localPath}\``);
  const { dirs, files } = await localTree(localPath);
  await filesystem.mkdir([path, ...dirs.map((dir) => `${path}/${dir}`)], call);
  await transfer(files, onProgress, async (file) => {
    await filesystem.upload(join(localPath, file.path), `${path}/${file.path}`, call);
  });
}

/** Copies a directory of the sandbox to this machine. Links and devices are left out. */
export async function downloadDirectory(
  filesystem: FilesystemNamespace,
  path: string,
  localPath: string,
  { onProgress, ...call }: TransferOptions,
): Promise<void> {
  const { dirs, files } = await remoteTree(filesystem, path, call);
  await mkdir(localPath, { recursive: true });
  for (const dir of dirs) await mkdir(join(localPath, dir), { recursive: true });
  await transfer(files, onProgress, async (file) => {
    await filesystem.download(`${path}/${file.path}`, join(localPath, file.path), call);
  });
}

async function localTree(root: string): Promise<Tree> {
  const tree: Tree = { dirs: [], files: [] };
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const local = join(entry.parentPath, entry.name);
    const path = relative(root, local).split(sep).join("/");
    if (entry.isDirectory()) tree.dirs.push(path);
    else if (entry.isFile()) tree.files.push({ path, size: (await stat(local)).size });
  }
  return tree;
}

async function remoteTree(filesystem: FilesystemNamespace, root: string, call: CallOptions): Promise<Tree> {
  const tree: Tree = { dirs: [], files: [] };
  const visit = async (dir: string, depth: number): Promise<void> => {
    if (depth > MAX_DEPTH) throw new NetworkError(`directories are nested deeper than ${MAX_DEPTH}: \`${dir}\``);
    for (const entry of await filesystem.list(`${root}/${dir}`, call)) {
      const path = dir + safeName(entry.name);
      if (entry.is_dir) {
        tree.dirs.push(path);
        await visit(`${path}/`, depth + 1);
      } else if (isFile(entry)) tree.files.push({ path, size: entry.size });
      if (tree.files.length + tree.dirs.length > MAX_FILES) throw new NetworkError(`more than ${MAX_FILES} files: \`${root}\``);
    }
  };
  await visit("", 0);
  return tree;
}

/** Code in the sandbox chooses names: one that leads elsewhere must not be written on this machine. */
function safeName(name: string): string {
  const leads = name === "" || name === "." || name === ".." || /[/\0]/.test(name) || (sep === "\\" && /[\\:]/.test(name));
  if (leads) throw new NetworkError(`not a file name: \`${name}\``);
  return name;
}

/** By the letter that modes begin with; servers that send only digits send them for files. */
function isFile({ mode }: FileInfo): boolean {
  return !/^[lpsbcd]/.test(mode);
}

async function transfer(
  files: Entry[],
  onProgress: ((progress: TransferProgress) => void) | undefined,
  copy: (file: Entry) => Promise<void>,
): Promise<void> {
  const totalBytes = files.reduce((sum, { size }) => sum + size, 0);
  const done = { files: 0, bytes: 0 };
  const waiting = files.values();
  let failed = false;
  const work = async () => {
    for (const file of waiting) {
      if (failed) return;
      await copy(file);
      done.files += 1;
      done.bytes += file.size;
      onProgress?.({ path: file.path, ...done, totalFiles: files.length, totalBytes });
    }
  };
  const workers = Array.from({ length: AT_ONCE }, () =>
    work().catch((error: unknown) => {
      failed = true;
      throw error;
    }),
  );
  // All have stopped before the caller goes on.
  const ends = await Promise.allSettled(workers);
  const end = ends.find((end) => end.status === "rejected");
  if (end) throw end.reason;
}
