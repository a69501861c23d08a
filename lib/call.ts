/**
 * Calls of the addon: signals in, errors out.
 *
 * @internal
 */

import { onAbort } from "./abort.js";
import type { CallControl } from "./call-options.js";
import { AbortError, CLASSES, errorOf, PandaStackError } from "./errors.js";
import { Execution } from "./execution.js";
import { type CancelToken, native } from "./native.js";
import type { ErrorCode, ExecutionAnswer } from "./wire/index.js";

/** Fields that the addon puts on its errors. */
interface NativeError extends Error {
  code: ErrorCode;
  statusCode?: number;
  requestId?: string;
  method?: string;
  url?: string;
  retryAfter?: number;
  body?: string;
  causes?: string[];
  stdout?: string;
  stderr?: string;
  execution?: ExecutionAnswer;
}

/** Runs one call. If `signal` is or gets aborted, the request is dropped and the call rejects with an {@link AbortError}. */
export async function call<T>(limits: CallControl, start: (cancel: CancelToken | undefined) => Promise<T>): Promise<T> {
  const { signal } = limits;
  if (!signal) {
    try {
      return await start(limits.timeoutMs === undefined ? undefined : cancelToken(limits));
    } catch (error) {
      throw translated(error);
    }
  }
  throwIfAborted(signal);
  const cancel = cancelToken(limits);
  const stopListening = onAbort(signal, () => cancel.cancel());
  try {
    return await start(cancel);
  } catch (error) {
    throw signal.aborted ? aborted(signal) : translated(error);
  } finally {
    stopListening();
  }
}

/** What the addon ends a call by. */
export function cancelToken({ timeoutMs }: CallControl): CancelToken {
  return new native.CancelToken(timeoutMs);
}

/** Rejects with the signal's reason as the cause. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw aborted(signal);
}

/** The error of an aborted call. */
export function aborted(signal: AbortSignal): AbortError {
  return new AbortError("the call was aborted", undefined, { cause: signal.reason });
}

/** What `work` resolves to; but once the signal aborts, it is waited for no longer. */
export async function orAborted<T>(work: T | PromiseLike<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  let stopListening = () => {};
  const abort = new Promise<never>((_, reject) => {
    stopListening = onAbort(signal, () => reject(aborted(signal)));
  });
  try {
    throwIfAborted(signal);
    return await Promise.race([work, abort]);
  } finally {
    stopListening();
  }
}

/** An error of the addon as one of this package's classes. */
export function translated(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof PandaStackError || !("code" in error)) return error;
  if (error.code === "InvalidArg") return errorOf("invalid_option", error.message, { cause: error });
  // Errors of files and callbacks have codes too.
  if (!Object.hasOwn(CLASSES, String(error.code))) return error;
  const { message, code, causes, execution, ...details } = fields(error as NativeError);
  return errorOf(code, message, {
    ...details,
    cause: chained(causes),
    execution: execution && Execution.of(execution),
  });
}

/** Absent and null are the same. */
function fields(error: NativeError) {
  const present = <T>(value: T | null | undefined): T | undefined => value ?? undefined;
  return {
    message: error.message,
    code: error.code,
    causes: present(error.causes) ?? [],
    statusCode: present(error.statusCode),
    requestId: present(error.requestId),
    method: present(error.method),
    url: present(error.url),
    retryAfter: present(error.retryAfter),
    body: present(error.body),
    stdout: present(error.stdout),
    stderr: present(error.stderr),
    execution: present(error.execution),
  };
}

function chained(causes: string[]): Error | undefined {
  return causes.reduceRight<Error | undefined>((cause, message) => new Error(message, cause && { cause }), undefined);
}
