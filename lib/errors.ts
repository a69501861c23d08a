/**
 * Errors. Every failure is a {@link PandaStackError} with a `code`; classes are for `instanceof`.
 */
import type { Execution } from "./execution.js";
import type { TemplateBuild } from "./template.js";
import type { ErrorCode } from "./wire/index.js";

/** Marks errors of this package, so that two copies of it agree on what `instanceof` means. */
const brand = Symbol.for("pandastack.error");

/** What makes the answer of an error, where there was one. */
const answer = Symbol("answer");

/** What is known about a failure. */
export interface ErrorDetails {
  /** Kind of failure. */
  code?: ErrorCode | undefined;
  /** HTTP status, if a server answered. */
  statusCode?: number | undefined;
  /** The server's name for the request. */
  requestId?: string | undefined;
  /** HTTP method. */
  method?: string | undefined;
  /** Address of the request, without its query. */
  url?: string | undefined;
  /** Seconds that the server asks to wait before the next try. */
  retryAfter?: number | undefined;
  /** The answer's body, at most 64 KiB of it: as text. */
  body?: string | undefined;
  /** What led to it. */
  cause?: unknown;
  /** Standard output up to the failure. */
  stdout?: string | undefined;
  /** Standard error up to the failure. */
  stderr?: string | undefined;
  /** What a cell had shown up to the failure. */
  execution?: Execution | undefined;
}

/** Base of all errors of this package. */
export class PandaStackError extends Error {
  /** Kind of failure. */
  readonly code: ErrorCode;
  /** HTTP status, if a server answered. */
  readonly statusCode?: number;
  /** The server's name for the request. */
  readonly requestId?: string;
  /** HTTP method. */
  readonly method?: string;
  /** Address of the request, without its query. */
  readonly url?: string;
  /** Seconds that the server asks to wait before the next try. */
  readonly retryAfter?: number;
  /** The answer's body: parsed if it is JSON, else its text, at most 64 KiB of it. */
  readonly body?: unknown;
  /** Standard output up to the failure. */
  stdout?: string;
  /** Standard error up to the failure. */
  stderr?: string;
  /** What a cell had shown up to the failure. */
  execution?: Execution;

  constructor(message: string, statusCode?: number, about?: ErrorDetails | Response) {
    const details: ErrorDetails = isResponse(about) ? { statusCode: about.status } : (about ?? {});
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = details.code ?? codeOf(new.target);
    const { cause: _, code: __, body, ...rest } = { ...details, statusCode: statusCode ?? details.statusCode };
    if (body !== undefined) this.body = parsed(body);
    // Not shown: it says the same as `body`.
    if (about) Object.defineProperty(this, answer, { value: isResponse(about) ? about : (body ?? "") });
    for (const [name, value] of Object.entries(rest)) {
      if (value !== undefined) Object.assign(this, { [name]: value });
    }
    Object.defineProperty(this, brand, { value: chain(new.target) });
  }

  /** The server's answer, if there was one. */
  get response(): Response | undefined {
    const { statusCode: status, [answer]: given } = this as { statusCode?: number; [answer]?: Response | string };
    if (given === undefined || typeof given === "object") return given;
    if (status === undefined || status < 200 || status > 599) return undefined;
    return new Response([204, 205, 304].includes(status) ? null : given || null, { status });
  }

  /** True also for errors of another copy of this package. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (typeof value !== "object" || value === null) return false;
    const names: unknown = (value as Record<symbol, unknown>)[brand];
    if (Object.prototype.isPrototypeOf.call(this.prototype, value)) return true;
    return Array.isArray(names) && names.includes(this.name) && isOurs(this);
  }
}

/** No key, an unknown key, or one without the right. */
export class AuthError extends PandaStackError {}
/** The request makes no sense to the server. */
export class BadRequestError extends PandaStackError {}
/** No such thing. */
export class NotFoundError extends PandaStackError {}
/** The name is taken, or the state forbids it. */
export class ConflictError extends BadRequestError {}
/** Too many requests. */
export class RateLimitError extends BadRequestError {}
/** The server failed. */
export class ServerError extends PandaStackError {}
/** The server has no room for it now. */
export class CapacityError extends ServerError {}
/** This server has no such function. */
export class NotSupportedError extends ServerError {}
/** A command or cell reached its time limit; its output so far is on the error. */
export class SandboxTimeout extends PandaStackError {}
/** The sandbox ended while it was in use. */
export class SandboxGoneError extends PandaStackError {}
/** The server could not be reached, or did not answer sensibly. */
export class NetworkError extends PandaStackError {}
/** The client's own time limit was reached. */
export class TimeoutError extends NetworkError {}
/** A stream was cut; what had arrived is on the error. */
export class InterruptedError extends NetworkError {}
/** The caller's signal aborted the call; its reason is the `cause`. */
export class AbortError extends PandaStackError {}
/** The local engine could not be found, started or set up. */
export class EngineError extends PandaStackError {}
/** An option is wrong; nothing was sent. */
export class InvalidOptionError extends BadRequestError {}
/** The native part of the package is missing, or does not load on this platform; the message names the package to install. */
export class AddonError extends PandaStackError {}

/** A command ended with a code other than 0 and `check` was asked for. */
export class CommandError extends PandaStackError {
  /** Exit code of the command. */
  readonly exitCode: number;
  declare stdout: string;
  declare stderr: string;

  constructor(message: string, exitCode: number, stdout = "", stderr = "") {
    super(message, undefined, { stdout, stderr });
    this.exitCode = exitCode;
  }
}

/** A template build failed. */
export class TemplateBuildError extends PandaStackError {
  /** The build as it was last. */
  readonly build: TemplateBuild;

  constructor(message: string, build: TemplateBuild) {
    super(message);
    this.build = build;
  }
}

/** No candidate of an exploration succeeded. */
export class ExploreError extends PandaStackError {}

/** Where a server says that a build failed and does not say which. */
const UNKNOWN_BUILD: TemplateBuild = { id: "", name: "", status: "failed", started_at: "", size_mb: 0 };

/** A class of errors. */
// biome-ignore lint/suspicious/noExplicitAny: constructors differ in their parameters.
export type ErrorClass = abstract new (...args: any[]) => PandaStackError;

/** The class of each code. A code without a class does not compile. */
export const CLASSES = {
  auth: AuthError,
  bad_request: BadRequestError,
  not_found: NotFoundError,
  conflict: ConflictError,
  rate_limit: RateLimitError,
  capacity: CapacityError,
  server: ServerError,
  not_supported: NotSupportedError,
  sandbox_timeout: SandboxTimeout,
  sandbox_gone: SandboxGoneError,
  timeout: TimeoutError,
  interrupted: InterruptedError,
  aborted: AbortError,
  network: NetworkError,
  engine: EngineError,
  command: CommandError,
  template_build: TemplateBuildError,
  explore: ExploreError,
  invalid_option: InvalidOptionError,
  addon: AddonError,
} satisfies Record<ErrorCode, ErrorClass>;

/** Makes an error of the class of `code`. */
export function errorOf(code: ErrorCode, message: string, details: ErrorDetails = {}): PandaStackError {
  if (code === "command") return new CommandError(message, 1, details.stdout, details.stderr);
  if (code === "template_build") return new TemplateBuildError(message, UNKNOWN_BUILD);
  return new CLASSES[code](message, details.statusCode, { ...details, code });
}

/** By its shape: `instanceof` would load all of `fetch` for the first error of a program. */
function isResponse(about: ErrorDetails | Response | undefined): about is Response {
  return about !== undefined && "status" in about && typeof about.status === "number";
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/** A caller's subclass must not claim errors that happen to bear its name. */
function isOurs(errorClass: unknown): boolean {
  return errorClass === PandaStackError || Object.values<unknown>(CLASSES).includes(errorClass);
}

function codeOf(errorClass: unknown): ErrorCode {
  const known = Object.entries(CLASSES).find(([, value]) => value === errorClass);
  return known ? (known[0] as ErrorCode) : "server";
}

/** Names of a class and its ancestors up to {@link PandaStackError}. */
function chain(errorClass: { name: string }): string[] {
  const names: string[] = [];
  for (let next = errorClass; next?.name && next !== Error; next = Object.getPrototypeOf(next)) names.push(next.name);
  return names;
}
