/**
 * Listening to signals.
 *
 * @internal
 */

/** What waits for a signal. One listener serves all: many calls may share one signal, and Node.js warns of the eleventh listener. */
const waiting = new WeakMap<AbortSignal, Waiting>();

interface Waiting {
  callbacks: Set<() => void>;
  listener: () => void;
}

/** Calls `callback` once when `signal` aborts. Returns what ends the waiting; it must be called. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (!signal) return () => {};
  const entry = waiting.get(signal) ?? listening(signal);
  // A function of its own: the same callback may be given twice.
  const own = () => callback();
  entry.callbacks.add(own);
  return () => {
    entry.callbacks.delete(own);
    if (entry.callbacks.size > 0 || waiting.get(signal) !== entry) return;
    waiting.delete(signal);
    signal.removeEventListener("abort", entry.listener);
  };
}

function listening(signal: AbortSignal): Waiting {
  const callbacks = new Set<() => void>();
  const listener = () => {
    waiting.delete(signal);
    for (const callback of callbacks) callback();
  };
  const entry = { callbacks, listener };
  waiting.set(signal, entry);
  signal.addEventListener("abort", listener, { once: true });
  return entry;
}
