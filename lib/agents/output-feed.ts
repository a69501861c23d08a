const TAIL_CHARS = 2000;
const LEFT_OUT = "[… earlier output left out …]\n";

/**
 * Output of a running cell as a few snapshots of its tail.
 *
 * A framework repeats the whole preliminary output with each update, so the updates are few and short: at most one per
 * interval, at most 2000 characters.
 */
export class OutputFeed {
  readonly #intervalMs: number;
  #tail = "";
  #cut = false;
  #changed = gate();
  #ended = gate();

  /** @param intervalMs Least time between two snapshots, in milliseconds. */
  constructor(intervalMs = 150) {
    this.#intervalMs = intervalMs;
  }

  /** Adds a piece of output. */
  push(text: string): void {
    const all = this.#tail + text;
    this.#tail = all.slice(-TAIL_CHARS);
    this.#cut ||= all.length > TAIL_CHARS;
    this.#changed.open();
  }

  /** No more output will come; snapshots end at once. */
  end(): void {
    this.#ended.open();
  }

  /** Snapshots of the tail, until the end. */
  async *snapshots(): AsyncGenerator<string, void, void> {
    for (;;) {
      await Promise.race([this.#changed.opened, this.#ended.opened]);
      if (await this.#endsWithin(this.#intervalMs)) return;
      this.#changed = gate();
      yield (this.#cut ? LEFT_OUT : "") + this.#tail;
    }
  }

  async #endsWithin(milliseconds: number): Promise<boolean> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), milliseconds);
    });
    const ended = await Promise.race([this.#ended.opened.then(() => true), late]);
    clearTimeout(timer);
    return ended;
  }
}

function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
