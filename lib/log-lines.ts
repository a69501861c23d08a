/**
 * Logs, line by line.
 *
 * @internal
 */
import { onAbort } from "./abort.js";
import { call, throwIfAborted, translated } from "./call.js";
import type { CallControl } from "./call-options.js";
import type { Client } from "./client.js";
import { EventLoop } from "./event-loop.js";
import type { NativeLineStream } from "./native.js";

/** Most lines of a batch. */
const BATCH = 256;

/** Which log, and how it is read. */
export interface LogRequest {
  /** Path under `/v1`, encoded. */
  path: string;
  /** Query parameters. */
  query?: [string, string][];
  /** Media type that is asked for. */
  accept: "text/event-stream" | "text/plain";
  /** True: the server says where the log ends, so that a connection that ends before is a cut one. */
  endsWithDone: boolean;
}

/** The lines of a log. `describe` is called at the first line. Leaving closes the connection at once, also while a line is waited for. */
export function logLines(client: Client, describe: () => [LogRequest, CallControl]): AsyncGenerator<string, void, undefined> {
  const ending = new AbortController();
  return new EventLoop(
    read(client, describe, ending),
    (line) => line,
    () => ending.abort(),
  );
}

async function* read(
  client: Client,
  describe: () => [LogRequest, CallControl],
  ending: AbortController,
): AsyncGenerator<string, void, undefined> {
  const [{ path, query = [], accept, endsWithDone }, control] = describe();
  const request = { method: "GET", path, query, headers: [["accept", accept]] as [string, string][] };
  const { signal } = ending;
  const given = control.signal;
  const stopListening = onAbort(given, () => ending.abort());
  try {
    throwIfAborted(given);
    yield* linesOf(await call({ ...control, signal }, (cancel) => client.native.lines(request, endsWithDone, cancel)), signal);
  } catch (error) {
    throwIfAborted(given);
    // Whoever left does not look at what was waited for: a rejection would be an unhandled one.
    if (!signal.aborted) throw error;
  } finally {
    stopListening();
  }
}

async function* linesOf(stream: NativeLineStream, signal: AbortSignal): AsyncGenerator<string, void, undefined> {
  const stopListening = onAbort(signal, () => stream.close());
  try {
    for (;;) {
      throwIfAborted(signal);
      const lines = await stream.nextBatch(BATCH);
      if (lines.length === 0) return;
      yield* lines;
    }
  } catch (error) {
    throw translated(error);
  } finally {
    stopListening();
    stream.close();
  }
}
