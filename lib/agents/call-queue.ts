interface Waiting {
  readonly start: () => void;
}

/**
 * Runs calls one after the other, in the order they came.
 *
 * Frameworks start all tool calls of one turn at once; one kernel takes one cell at a time.
 */
export class CallQueue {
  #waiting: Waiting[] = [];
  #busy = false;

  /**
   * Runs `call` when its turn comes.
   *
   * @param signal Aborted while the call waits: the call is removed, never started, and rejects with the signal's reason.
   *   From its start on, the call has to watch the signal itself.
   */
  add<T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise<T>((resolve, reject) => {
      const leave = () => {
        this.#waiting = this.#waiting.filter((other) => other !== entry);
        reject(signal?.reason);
      };
      const entry: Waiting = {
        start: () => {
          signal?.removeEventListener("abort", leave);
          call()
            .then(resolve, reject)
            .finally(() => this.#next());
        },
      };
      signal?.addEventListener("abort", leave, { once: true });
      this.#waiting.push(entry);
      if (!this.#busy) this.#next();
    });
  }

  #next(): void {
    const entry = this.#waiting.shift();
    this.#busy = entry !== undefined;
    entry?.start();
  }
}
