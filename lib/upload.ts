/**
 * Bodies that are sent piece by piece.
 *
 * @internal
 */
import { aborted, call, cancelToken, throwIfAborted, translated } from "./call.js";
import type { CallControl } from "./call-options.js";
import type { Client } from "./client.js";
import { InvalidOptionError } from "./errors.js";
import type { CancelToken } from "./native.js";

/** A body of the addon. */
export interface NativeSink<T> {
  /** Takes the next piece. False: the call has ended already, and `finish` tells why. */
  push(piece: Uint8Array, cancel?: CancelToken): Promise<boolean>;
  /** Ends the body and waits for the answer. */
  finish(cancel?: CancelToken): Promise<T>;
  /** Breaks the call off; the server does not get a complete body. */
  abort(): void;
}

/** Sends what `start` opens the pieces, one by one, and returns the answer. Whatever fails breaks the call off. */
export async function pushAll<T>(
  start: (cancel: CancelToken) => NativeSink<T>,
  pieces: AsyncIterable<string | Uint8Array>,
  limits: CallControl,
): Promise<T> {
  const { signal } = limits;
  throwIfAborted(signal);
  const sink = started(start, limits);
  try {
    for await (const piece of pieces) {
      const bytes = typeof piece === "string" ? Buffer.from(piece) : piece;
      if (!(bytes instanceof Uint8Array)) throw new InvalidOptionError("the pieces of a stream must be strings or bytes");
      if (!(await call(limits, (cancel) => sink.push(bytes, cancel)))) break;
    }
    return await call(limits, (cancel) => sink.finish(cancel));
  } catch (error) {
    sink.abort();
    throw signal?.aborted ? aborted(signal) : translated(error);
  }
}

/** A `POST` whose body comes in pieces; the answer's bytes. */
export async function sendPieces(
  client: Client,
  path: string,
  contentType: string,
  pieces: AsyncIterable<Uint8Array>,
  limits: CallControl,
): Promise<Buffer> {
  const request = { method: "POST", path, query: [], headers: [] };
  return pushAll((cancel) => client.native.upload(request, contentType, cancel), pieces, limits);
}

function started<T>(start: (cancel: CancelToken) => NativeSink<T>, limits: CallControl): NativeSink<T> {
  try {
    return start(cancelToken(limits));
  } catch (error) {
    throw translated(error);
  }
}
