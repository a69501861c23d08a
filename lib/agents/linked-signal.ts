/**
 * A signal that is aborted with the first of `signals`, until it is released.
 *
 * `AbortSignal.any` leaves something on a long-lived signal with every call on Node.js 20; this leaves nothing once released.
 */
export function linkedSignal(...signals: (AbortSignal | undefined)[]): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const releases = signals.flatMap((signal) => {
    if (!signal) return [];
    const abort = () => controller.abort(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    return [() => signal.removeEventListener("abort", abort)];
  });
  return { signal: controller.signal, release: () => releases.forEach((release) => void release()) };
}
