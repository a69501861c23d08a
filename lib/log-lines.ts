/**
 * Logs, line by line.
 *
 * @internal
 */
import { onAbort } from "./abort.js";
import { aborted, call, throwIfAborted, translated } from "./call.js";
import type { CallControl } from "./call-options.js";
import type { Client } from "./client.js";

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

/** The lines of a log. Leaving the loop closes the connection. */
export async function* logLines(
  client: Client,
  { path, query = [], accept, endsWithDone }: LogRequest,
  control: CallControl,
): AsyncGenerator<string, void, undefined> {
  const { signal } = control;
  const request = { method: "GET", path, query, headers: [["accept", accept]] as [string, string][] };
  const stream = await call(control, (cancel) => client.native.lines(request, endsWithDone, cancel));
  const stopListening = onAbort(signal, () => stream.close());
  try {
    for (;;) {
      throwIfAborted(signal);
      const lines = await stream.nextBatch(BATCH);
      if (lines.length === 0) return;
      yield* lines;
    }
  } catch (error) {
    throw signal?.aborted ? aborted(signal) : translated(error);
  } finally {
    stopListening();
    stream.close();
  }
}
