/**
 * Loops over what a server sends.
 *
 * @internal
 */

/**
 * The events that `pick` wants, as what it makes of them. Leaving the loop calls `stop` at once: a generator would first wait for the
 * next event, and one that nobody has begun to read would not stop at all.
 */
export class EventLoop<E, T> implements AsyncGenerator<T, void, undefined> {
  readonly [Symbol.toStringTag] = "EventLoop";

  constructor(
    private readonly events: AsyncGenerator<E, void, undefined>,
    private readonly pick: (event: E) => T | undefined,
    private readonly stop: () => void,
  ) {}

  /** The next event that is wanted. */
  async next(): Promise<IteratorResult<T, void>> {
    for (let step = await this.events.next(); !step.done; step = await this.events.next()) {
      const value = this.pick(step.value);
      if (value !== undefined) return { done: false, value };
    }
    return { done: true, value: undefined };
  }

  /** Stops. What becomes of an event that is being waited for is up to `events`. */
  async return(): Promise<IteratorResult<T, void>> {
    this.stop();
    await this.events.return();
    return { done: true, value: undefined };
  }

  /** Stops and rejects with `error`. */
  async throw(error: unknown): Promise<IteratorResult<T, void>> {
    await this.return();
    throw error;
  }

  /** Itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Stops. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}
