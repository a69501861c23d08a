/**
 * The loop over a stream of events.
 *
 * @internal
 */
import { onAbort } from "./abort.js";
import { aborted, orAborted, throwIfAborted, translated } from "./call.js";

/** Most events of a batch. */
const BATCH = 64;

/** A stream of the addon. */
export interface NativeStream<E> {
  /** The next events; an empty array at the end. */
  nextBatch(limit: number): Promise<E[]>;
  /** Closes the connection. */
  close(): void;
}

/**
 * Hands every event to `handle` and waits for it before the next one, so that a slow handler slows the server; one that never settles
 * is left by the signal. The connection is closed when the loop ends, however it ends.
 */
export async function eachEvent<E>(
  stream: NativeStream<E>,
  signal: AbortSignal | undefined,
  handle: (event: E) => unknown,
): Promise<void> {
  const stopListening = onAbort(signal, () => stream.close());
  try {
    throwIfAborted(signal);
    for (let batch = await next(stream, signal); batch.length > 0; batch = await next(stream, signal)) {
      for (const event of batch) {
        const handled = handle(event);
        if (handled !== undefined) await orAborted(handled, signal);
        throwIfAborted(signal);
      }
    }
  } finally {
    stopListening();
    stream.close();
  }
}

async function next<E>(stream: NativeStream<E>, signal: AbortSignal | undefined): Promise<E[]> {
  try {
    return await stream.nextBatch(BATCH);
  } catch (error) {
    throw signal?.aborted ? aborted(signal) : translated(error);
  }
}
