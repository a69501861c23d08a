/**
 * Templates: what sandboxes are made from.
 */
import { existsSync, readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { basename } from "node:path";
import { InvalidOptionError } from "./errors.js";
import { multipart } from "./multipart.js";
import type { TemplateInfo as WireTemplateInfo } from "./wire/index.js";

/** Bytes of a file that are read at once. */
const READ_AT_ONCE = 1 << 20;

/** A template. */
export interface TemplateInfo extends WireTemplateInfo {
  /** Workspace that owns it. */
  workspace?: string;
  /** A name for people. */
  label?: string;
  /** What it is for. */
  description?: string;
  /** Which kind it is of. */
  category?: string;
  /** Template that it was made from. */
  base?: string;
  /** What is installed. */
  tools?: string[];
  /** Whatever else the server says. */
  meta?: Record<string, unknown>;
}

/** A build of a template. */
export interface TemplateBuild {
  /** Id. */
  id: string;
  /** Name of the template. */
  name: string;
  /** `done` and `failed` are final. */
  status: "queued" | "running" | "done" | "failed" | (string & {});
  /** Why it failed. */
  error?: string;
  /** RFC 3339. */
  started_at: string;
  /** RFC 3339. */
  ended_at?: string;
  /** Size of the disk in MiB. */
  size_mb: number;
  /** Size of the image in bytes. */
  bytes?: number;
}

/** Options of {@link TemplateNamespace.build}. */
export interface TemplateBuildOptions {
  /** Name of the template. */
  name: string;
  /** Tar archive of a root filesystem: a path of this machine, which is read as it is sent, or bytes. */
  rootfs: string | Blob | Uint8Array | ArrayBuffer;
  /** Size of the disk in MiB. Default 1024. */
  sizeMb?: number;
  /** Size of the disk in MiB. */
  size_mb?: number;
  /** Kernel. */
  kernel?: string;
  /** Name of the archive. Default: that of the path, or `rootfs.tar`. */
  filename?: string;
}

/** Options of {@link TemplateNamespace.register}. */
export interface TemplateRegisterOptions {
  /** Name of the template. */
  name: string;
  /** Image in the registry that the server trusts. */
  imageRef: string;
  /** Size of the disk in MiB. Default 1024. */
  sizeMb?: number;
  /** Size of the disk in MiB. */
  size_mb?: number;
  /** Virtual CPUs. */
  cpu?: number;
  /** Memory in MiB. */
  memoryMb?: number;
  /** Memory in MiB. */
  memory_mb?: number;
  /** Kernel. */
  kernel?: string;
}

/** Options of {@link TemplateNamespace.buildFromDockerfile}. */
export interface TemplateDockerfileBuildOptions {
  /** Name of the template. */
  name: string;
  /** Text of the Dockerfile, or its path on this machine. */
  dockerfile: string;
  /** Files that it copies: relative path to content. */
  context?: Record<string, string | Uint8Array>;
  /** Size of the disk in MiB. Default 1024. */
  sizeMb?: number;
  /** Size of the disk in MiB. */
  size_mb?: number;
  /** Virtual CPUs. */
  cpu?: number;
  /** Memory in MiB. */
  memoryMb?: number;
  /** Memory in MiB. */
  memory_mb?: number;
}

/** @internal The form of a root filesystem, read from the disk as it is sent. */
export async function rootfsForm(options: TemplateBuildOptions): Promise<ReturnType<typeof multipart>> {
  const fields = fieldsOf(options);
  if (options.kernel) fields.push(["kernel", options.kernel]);
  const { rootfs } = options;
  const filename = options.filename ?? (typeof rootfs === "string" ? basename(rootfs) : "rootfs.tar");
  return multipart(fields, { field: "rootfs", filename, contentType: "application/x-tar", pieces: await piecesOf(rootfs) });
}

/** @internal The form of an image. */
export function imageForm(options: TemplateRegisterOptions): FormData {
  const form = formOf(options, ["image_ref", options.imageRef]);
  setSize(form, options);
  if (options.kernel) form.set("kernel", options.kernel);
  return form;
}

/** @internal The form of a Dockerfile and the files that it copies. */
export function dockerfileForm(options: TemplateDockerfileBuildOptions): FormData {
  const form = formOf(options, ["dockerfile", dockerfileText(options.dockerfile)]);
  setSize(form, options);
  for (const [path, content] of Object.entries(options.context ?? {})) {
    form.set(path, new Blob([typeof content === "string" ? content : new Uint8Array(content)]), basename(path));
  }
  return form;
}

interface Named {
  name: string;
  size_mb?: number;
  sizeMb?: number;
}

function fieldsOf({ name, size_mb, sizeMb }: Named, ...source: [string, string][]): [string, string][] {
  return [["name", name], ...source, ["size_mb", String(size_mb ?? sizeMb ?? 1024)]];
}

function formOf(options: Named, ...source: [string, string][]): FormData {
  const form = new FormData();
  for (const [field, value] of fieldsOf(options, ...source)) form.set(field, value);
  return form;
}

function setSize(form: FormData, options: { cpu?: number; memory_mb?: number; memoryMb?: number }): void {
  const memory = options.memory_mb ?? options.memoryMb;
  if (options.cpu) form.set("cpu", String(options.cpu));
  if (memory) form.set("memory_mb", String(memory));
}

async function piecesOf(rootfs: unknown): Promise<AsyncIterable<Uint8Array>> {
  if (typeof rootfs === "string") return (await open(rootfs)).createReadStream({ highWaterMark: READ_AT_ONCE });
  if (rootfs instanceof Blob) return rootfs.stream();
  if (rootfs instanceof ArrayBuffer) return only(new Uint8Array(rootfs));
  if (rootfs instanceof Uint8Array) return only(rootfs);
  throw new InvalidOptionError("templates.build: option `rootfs` must be a path or bytes");
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}

/** One line that names a file is a path, all else the text itself. */
function dockerfileText(dockerfile: string): string {
  return !dockerfile.includes("\n") && existsSync(dockerfile) ? readFileSync(dockerfile, "utf8") : dockerfile;
}
