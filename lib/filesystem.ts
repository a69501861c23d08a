/**
 * `sandbox.filesystem`.
 */
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { aborted, call, cancelToken, throwIfAborted, translated } from "./call.js";
import type { CallControl, CallOptions } from "./call-options.js";
import type { Client } from "./client.js";
import { InvalidOptionError, NotFoundError } from "./errors.js";
import { callOptions, checked, checkedPath, checkedText } from "./options.js";
import type { FileWritten, FileInfo as WireFileInfo } from "./wire/index.js";

/** A file or directory. */
export interface FileInfo extends WireFileInfo {
  /** Absolute path. */
  path: string;
}

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
      return this.#writePieces(path, content as AsyncIterable<string | Uint8Array>, limits);
    }
    throw new InvalidOptionError("write: the content must be a string, bytes, or a stream of them");
  }

  /** Copies a local file into the sandbox. */
  async upload(localPath: string, path: string, options?: CallOptions): Promise<FileWritten> {
    checkedText(localPath, "a local path");
    return this.write(path, createReadStream(localPath), options);
  }

  /** Copies a file out of the sandbox; missing folders are made. The local file is complete or not there at all. */
  async download(path: string, localPath: string, options?: CallOptions): Promise<void> {
    checkedText(localPath, "a local path");
    const folder = dirname(localPath);
    await mkdir(folder, { recursive: true });
    const partial = join(folder, `.${basename(localPath)}.${randomUUID().slice(0, 8)}`);
    try {
      const file = await open(partial, "wx");
      try {
        for await (const piece of this.readStream(path, options)) await file.writeFile(piece);
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

  /** Every directory below `path`, parents before children. Links to directories are not followed. */
  async *walk(
    path = "/",
    options?: CallOptions,
  ): AsyncGenerator<{ dir: string; dirs: FileInfo[]; files: FileInfo[] }, void, undefined> {
    const entries = await this.list(path, options);
    const dirs = entries.filter((entry) => entry.is_dir);
    yield { dir: path, dirs, files: entries.filter((entry) => !entry.is_dir) };
    for (const dir of dirs) yield* this.walk(dir.path, options);
  }

  async #writePieces(path: string, pieces: AsyncIterable<string | Uint8Array>, limits: CallControl): Promise<FileWritten> {
    const { signal } = limits;
    throwIfAborted(signal);
    const upload = startUpload(this.client, this.sandbox, path, limits);
    try {
      for await (const piece of pieces) {
        const bytes = typeof piece === "string" ? Buffer.from(piece) : piece;
        if (!(bytes instanceof Uint8Array))
          throw new InvalidOptionError("write: the pieces of a stream must be strings or bytes");
        if (!(await call(limits, (cancel) => upload.push(bytes, cancel)))) break;
      }
      return await call(limits, (cancel) => upload.finish(cancel));
    } catch (error) {
      upload.abort();
      throw signal?.aborted ? aborted(signal) : translated(error);
    }
  }
}

function startUpload(client: Client, sandbox: string, path: string, limits: CallControl) {
  try {
    return client.native.uploadFile(sandbox, path, cancelToken(limits));
  } catch (error) {
    throw translated(error);
  }
}
