/**
 * What a client tells about its calls.
 */
import { inspect } from "node:util";
import type { NativeClient } from "./native.js";
import type { ErrorCode, Retry } from "./wire/index.js";

/** A call that failed and will be made again after a pause. */
export interface RetryInfo {
  /** HTTP method. */
  method: string;
  /** Path under `/v1`, without its query. */
  path: string;
  /** How many tries have failed; 1 after the first. */
  attempt: number;
  /** Pause before the next try, in milliseconds. */
  delayMs: number;
  /** Why the try failed. */
  code: ErrorCode;
  /** HTTP status of the answer, if there was one. */
  statusCode?: number;
  /** What the server said, for people. */
  message: string;
}

/** Takes what a client tells; `console` is one. Never told: keys, code, commands, contents of files. */
export interface Logger {
  /** Every call that went well, with its duration. */
  debug?(message: string, fields: Record<string, unknown>): void;
  /** Every call that is made again. */
  info?(message: string, fields: Record<string, unknown>): void;
  /** Every call that failed. */
  warn?(message: string, fields: Record<string, unknown>): void;
}

/** @internal What the addon calls before a call is made again. */
export function retryListener(
  logger: Logger | undefined,
  onRetry: ((retry: RetryInfo) => void) | undefined,
): ((retry: Retry) => void) | undefined {
  if (!logger && !onRetry) return undefined;
  return ({ delay_ms: delayMs, status_code: statusCode, ...rest }) => {
    const retry: RetryInfo = { ...rest, delayMs, ...(statusCode === null ? {} : { statusCode }) };
    tell(() => onRetry?.(retry));
    tell(() => logger?.info?.("retry", { ...retry }));
  };
}

/** @internal The addon's client, telling `logger` about each of its calls. */
export function logged(client: NativeClient, logger: Logger | undefined): NativeClient {
  if (!logger) return client;
  return new Proxy(client, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => watched(logger, String(name), () => member.apply(target, args));
    },
  });
}

function watched(logger: Logger, operation: string, start: () => unknown): unknown {
  const began = performance.now();
  const answer = start();
  if (!(answer instanceof Promise)) return answer;
  const durationMs = () => Math.round(performance.now() - began);
  answer.then(
    () => tell(() => logger.debug?.(operation, { durationMs: durationMs() })),
    (error) => tell(() => logger.warn?.(`${operation} failed`, { durationMs: durationMs(), ...told(error) })),
  );
  return answer;
}

function told(error: unknown): Record<string, unknown> {
  const { code, statusCode, requestId, method, url } = error as Record<string, unknown>;
  return { code, statusCode, requestId, method, url };
}

/** A listener that fails, now or later, must not break the call that it is told about, nor the process. */
function tell(listener: () => unknown): void {
  new Promise((resolve) => resolve(listener())).catch((error: unknown) => {
    process.emitWarning(`a logger or onRetry of @pandastack/sdk failed: ${inspect(error)}`);
  });
}
