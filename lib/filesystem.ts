/**
 * `sandbox.filesystem`.
 */
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { control } from "./answer.js";
import { call } from "./call.js";
import type { CallOptions } from "./call-options.js";
import type { Client } from "./client.js";
import { downloadDirectory, type TransferOptions, uploadDirectory } from "./directory.js";
import { InvalidOptionError, NotFoundError } from "./errors.js";
import { change, directoriesBehind, portions } from "./file-commands.js";
import { callOptions, checked, checkedPath, checkedText, copyOptions, transferOptions, walkOptions } from "./options.js";
import { pushAll } from "./upload.js";
import { type WalkedDirectory, type WalkOptions, walkTree } from "./walk.js";
import type { FileWritten, FileInfo as WireFileInfo } from "./wire/index.js";

/** A file or directory. */
export interface FileInfo extends WireFileInfo {
  /** Absolute path. */
  path: string;
}

/** Options of a file's transfer. */
export interface FileTransferOptions extends CallOptions {
  /** Told how many bytes have been transferred, after every piece. One that throws ends the transfer. */
  onProgress?: (bytes: number) => void;
}

/** Bytes of a local file that are read at once: each piece costs a hop to another thread. */
const UPLOAD_PIECE = 1 << 20;

/** What can be written: text (as UTF-8), bytes, or pieces of them as they come. */
export type FileContent = string | Uint8Array | ArrayBuffer | AsyncIterable<string | Uint8Array> | ReadableStream<Uint8Array>;

/** Files of one sandbox. Every path is absolute. */
export class FilesystemNamespace {
  constructor(
    private readonly client: Client,
    private readonly sandbox: string,
  ) {}

  /**
   * A whole file as UTF-8 text; invalid bytes become U+FFFD.
   *
   * @throws {NotFoundError} if there is no such file.
   */
  async read(path: string, options?: CallOptions): Promise<string> {
    return (await this.readBytes(path, options)).toString("utf8");
  }

  /**
   * A whole file as bytes, at most 512 MiB.
   *
   * @throws {NotFoundError} if there is no such file.
   */
  async readBytes(path: string, options?: CallOptions): Promise<Buffer> {
    const limits = checked(callOptions, options, "read");
    checkedPath(path);
    return call(limits, (cancel) => this.client.native.readFile(this.sandbox, path, cancel));
  }

  /**
   * A file piece by piece. Leaving the loop closes the connection.
   *
   * @throws {NotFoundError} if there is no such file.
   */
  async *readStream(path: string, options?: CallOptions): AsyncGenerator<Buffer, void, undefined> {
    const limits = checked(callOptions, options, "readStream");
    checkedPath(path);
    const download = await call(limits, (cancel) => this.client.native.downloadFile(this.sandbox, path, cancel));
    try {
      for (;;) {
        const piece = await call(limits, (cancel) => download.nextChunk(cancel));
        if (!piece) return;
        yield piece;
      }
    } finally {
      download.close();
    }
  }

  /**
   * Writes a file, replacing it; missing parents are made. Bytes must not change until the promise settles.
   *
   * @returns Path and number of bytes written.
   */
  async write(path: string, content: FileContent, options?: CallOptions): Promise<FileWritten> {
    const limits = checked(callOptions, options, "write");
    checkedPath(path);
    if (typeof content === "string") content = Buffer.from(content);
    if (content instanceof ArrayBuffer) content = new Uint8Array(content);
    if (content instanceof Uint8Array) {
      const bytes = content;
      return call(limits, (cancel) => this.client.native.writeFile(this.sandbox, path, bytes, cancel));
    }
    if (typeof content === "object" && content !== null && Symbol.asyncIterator in content) {
      const pieces = content as AsyncIterable<string | Uint8Array>;
      return pushAll((cancel) => this.client.native.uploadFile(this.sandbox, path, cancel), pieces, limits);
    }
    throw new InvalidOptionError("write: the content must be a string, bytes, or a stream of them");
  }

  /** Copies a local file into the sandbox. */
  async upload(localPath: string, path: string, options?: FileTransferOptions): Promise<FileWritten> {
    checkedText(localPath, "a local path");
    const { onProgress, ...call } = checked(transferOptions, options, "upload") as unknown as FileTransferOptions;
    return this.write(path, counted(createReadStream(localPath, { highWaterMark: UPLOAD_PIECE }), onProgress), call);
  }

  /** Copies a file out of the sandbox; missing folders are made. The local file is complete or not there at all. */
  async download(path: string, localPath: string, options?: FileTransferOptions): Promise<void> {
    checkedText(localPath, "a local path");
    const { onProgress, ...call } = checked(transferOptions, options, "download") as unknown as FileTransferOptions;
    const folder = dirname(localPath);
    await mkdir(folder, { recursive: true });
    const partial = join(folder, `.${basename(localPath)}.${randomUUID().slice(0, 8)}`);
    try {
      const file = await open(partial, "wx");
      try {
        for await (const piece of counted(this.readStream(path, call), onProgress)) await file.writeFile(piece);
      } finally {
        await file.close();
      }
      await rename(partial, localPath);
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    }
  }

  /**
   * Entries of a directory.
   *
   * @throws {NotFoundError} if there is no such directory.
   */
  async list(path = "/", options?: CallOptions): Promise<FileInfo[]> {
    const limits = checked(callOptions, options, "list");
    checkedPath(path);
    return (await call(limits, (cancel) => this.client.native.listFiles(this.sandbox, path, cancel))) as FileInfo[];
  }

  /**
   * One file or directory.
   *
   * @throws {NotFoundError} if there is none.
   */
  async stat(path: string, options?: CallOptions): Promise<FileInfo> {
    const limits = checked(callOptions, options, "stat");
    checkedPath(path);
    return (await call(limits, (cancel) => this.client.native.statFile(this.sandbox, path, cancel))) as FileInfo;
  }

  /** Whether there is a file or directory. */
  async exists(path: string, options?: CallOptions): Promise<boolean> {
    try {
      await this.stat(path, options);
      return true;
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  }

  /** Removes a file, or a directory with all in it. No error if there is none. */
  async remove(path: string, options?: CallOptions): Promise<void> {
    const limits = checked(callOptions, options, "remove");
    checkedPath(path);
    await call(limits, (cancel) => this.client.native.removeFile(this.sandbox, path, cancel));
  }

  /** Makes directories and their parents. No error if they are there already. */
  async mkdir(paths: string | string[], options?: CallOptions): Promise<void> {
    const limits = control(options, "mkdir");
    const list = (Array.isArray(paths) ? paths : [paths]).map(checkedPath);
    for (const portion of portions(list)) await change(this.client, this.sandbox, ["mkdir", "-p", "--", ...portion], limits);
  }

  /**
   * Moves a file or directory; what is at `to` is replaced, unless it is a directory with something in it.
   *
   * @throws {NotFoundError} if there is none.
   */
  async rename(from: string, to: string, options?: CallOptions): Promise<void> {
    const limits = control(options, "rename");
    await change(this.client, this.sandbox, ["mv", "-f", "-T", "--", checkedPath(from), checkedPath(to)], limits);
  }

  /**
   * Copies a file, with its mode and times; `recursive`: or a directory with all in it.
   *
   * @throws {NotFoundError} if there is none.
   */
  async copy(from: string, to: string, options?: { recursive?: boolean } & CallOptions): Promise<void> {
    const { recursive, ...call } = checked(copyOptions, options, "copy");
    const argv = ["cp", recursive ? "-a" : "-p", "-T", "--", checkedPath(from), checkedPath(to)];
    await change(this.client, this.sandbox, argv, control(call, "copy"));
  }

  /**
   * Sets the mode of a file or directory.
   *
   * @param mode - A number (`0o644`) or what `chmod` takes (`"u+x"`).
   */
  async chmod(path: string, mode: number | string, options?: CallOptions): Promise<void> {
    const limits = control(options, "chmod");
    await change(this.client, this.sandbox, ["chmod", "--", checkedMode(mode), checkedPath(path)], limits);
  }

  /** Copies a local directory with all in it into the sandbox, four files at a time. Links are left out. */
  async uploadDirectory(localPath: string, path: string, options?: TransferOptions): Promise<void> {
    checkedText(localPath, "a local path");
    const transfer = checked(transferOptions, options, "uploadDirectory") as TransferOptions;
    await uploadDirectory(this, localPath, withoutSlash(checkedPath(path)), transfer);
  }

  /**
   * Copies a directory of the sandbox with all in it to this machine, four files at a time. Links and devices are left out; a name
   * that leads out of the directory ends the transfer.
   */
  async downloadDirectory(path: string, localPath: string, options?: TransferOptions): Promise<void> {
    checkedText(localPath, "a local path");
    const transfer = checked(transferOptions, options, "downloadDirectory") as TransferOptions;
    await downloadDirectory(this, withoutSlash(checkedPath(path)), localPath, transfer);
  }

  /**
   * Every directory below `path`, parents before children, at most 1000 deep, none twice.
   *
   * @param options - `followSymlinks`: also into directories that links lead to (default: links are listed among the files);
   * `onError`: takes the failure of a directory, and the walk goes on (default: it ends the walk).
   * @example
   * for await (const { dir, files } of sandbox.filesystem.walk("/root")) console.log(dir, files.length);
   */
  async *walk(path = "/", options?: WalkOptions): AsyncGenerator<WalkedDirectory, void, undefined> {
    const walk = checked(walkOptions, options, "walk") as unknown as WalkOptions;
    const tree = {
      list: (dir: string, call: CallOptions) => this.list(dir, call),
      resolve: (paths: string[], call: CallOptions) => directoriesBehind(this.client, this.sandbox, paths, call),
    };
    yield* walkTree(tree, path, walk);
  }
}

async function* counted<T extends Uint8Array>(
  pieces: AsyncIterable<T>,
  onProgress: ((bytes: number) => void) | undefined,
): AsyncGenerator<T, void, undefined> {
  let bytes = 0;
  for await (const piece of pieces) {
    yield piece;
    bytes += piece.byteLength;
    onProgress?.(bytes);
  }
}

function withoutSlash(path: string): string {
  return path.replace(/\/+$/, "");
}

function checkedMode(mode: unknown): string {
  if (typeof mode === "number" && Number.isInteger(mode) && mode >= 0 && mode <= 0o7777) return mode.toString(8);
  if (typeof mode === "string" && /^([0-7]{1,5}|[ugoa]*([-+=][rwxXst]*)+(,[ugoa]*([-+=][rwxXst]*)+)*)$/.test(mode)) return mode;
  throw new InvalidOptionError(`chmod: not a mode: \`${String(mode)}\``);
}
