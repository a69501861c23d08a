/**
 * Going through the directories of a sandbox.
 */
import type { CallOptions } from "./call-options.js";
import type { FileInfo } from "./filesystem.js";

/** A directory that a walk came to. */
export interface WalkedDirectory {
  /** Its path: below a link that was followed, the path through the link. */
  dir: string;
  /** Directories in it; with `followSymlinks` also links to directories. */
  dirs: FileInfo[];
  /** Everything else in it. */
  files: FileInfo[];
}

/** Options of a walk. */
export interface WalkOptions extends CallOptions {
  /** Walk into directories that links lead to, each directory once, wherever links lead in circles. Default: false. */
  followSymlinks?: boolean;
  /** Takes the failure of a directory, and the walk goes on. Default: it ends the walk. */
  onError?: (error: unknown, path: string) => void;
}

/**
 * What a walk needs of a sandbox.
 *
 * @internal
 */
export interface Tree {
  list(path: string, options: CallOptions): Promise<FileInfo[]>;
  /** The directory that each path leads to in the end; undefined where that is none. */
  resolve(paths: string[], options: CallOptions): Promise<(string | undefined)[]>;
}

/** Deepest directory that is walked: a tree that has no end must not have no end here. */
const MAX_DEPTH = 1000;

interface Place {
  path: string;
  /** The same directory without links in its path. */
  real: string;
  depth: number;
}

/**
 * Every directory below `path`, parents before children.
 *
 * @internal
 */
export async function* walkTree(
  tree: Tree,
  path: string,
  { onError, followSymlinks, ...call }: WalkOptions,
): AsyncGenerator<WalkedDirectory, void, undefined> {
  const [start] = followSymlinks ? await tree.resolve([path], call) : [];
  const waiting: Place[] = [{ path, real: start ?? path, depth: 0 }];
  const seen = new Set<string>();
  for (let place = waiting.pop(); place; place = waiting.pop()) {
    if (seen.has(place.real)) continue;
    seen.add(place.real);
    let walked: [WalkedDirectory, Place[]];
    try {
      walked = await look(tree, place, followSymlinks === true, call);
    } catch (error) {
      if (!onError) throw error;
      onError(error, place.path);
      continue;
    }
    yield walked[0];
    if (place.depth + 1 < MAX_DEPTH) waiting.push(...walked[1].reverse());
  }
}

async function look(tree: Tree, place: Place, follow: boolean, call: CallOptions): Promise<[WalkedDirectory, Place[]]> {
  const entries = (await tree.list(place.real, call)).map((entry) => ({ ...entry, path: below(place.path, entry.name) }));
  const links = follow ? entries.filter(isLink) : [];
  const targets =
    links.length > 0
      ? await tree.resolve(
          links.map((link) => link.path),
          call,
        )
      : [];
  const followed = new Map(links.map((link, index) => [link.name, targets[index]]));
  const dirs: FileInfo[] = [];
  const files: FileInfo[] = [];
  const next: Place[] = [];
  for (const entry of entries) {
    const real = entry.is_dir ? below(place.real, entry.name) : followed.get(entry.name);
    if (real === undefined) {
      files.push(entry);
      continue;
    }
    dirs.push(entry);
    next.push({ path: entry.path, real, depth: place.depth + 1 });
  }
  return [{ dir: place.path, dirs, files }, next];
}

function isLink({ mode }: FileInfo): boolean {
  return /^l/i.test(mode);
}

function below(dir: string, name: string): string {
  return `${dir.replace(/\/+$/, "")}/${name}`;
}
