/**
 * Collects output within a limit.
 *
 * @internal
 */

/** Bytes of each stream that are kept unless the caller chooses another limit. */
export const DEFAULT_OUTPUT_LIMIT = 16 * 1024 * 1024;

/** Keeps the head and the tail of a text; what is dropped between them is counted. */
export class OutputBuffer {
  readonly #half: number;
  readonly #head: string[] = [];
  #tail: string[] = [];
  #headBytes = 0;
  #tailBytes = 0;
  #dropped = 0;

  constructor(limit: number = DEFAULT_OUTPUT_LIMIT) {
    this.#half = Math.max(1, Math.floor(limit / 2));
  }

  /** True if something was dropped. */
  get truncated(): boolean {
    return this.#dropped > 0;
  }

  /** Takes the next piece. */
  push(text: string): void {
    const bytes = Buffer.byteLength(text);
    const room = this.#half - this.#headBytes;
    if (this.#tailBytes === 0 && this.#dropped === 0 && bytes <= room) {
      this.#head.push(text);
      this.#headBytes += bytes;
      return;
    }
    if (this.#tailBytes === 0 && this.#dropped === 0 && room > 0) {
      const head = firstBytes(text, room);
      this.#head.push(head);
      this.#headBytes = this.#half;
      this.#pushTail(text.slice(head.length));
      return;
    }
    this.#pushTail(text);
  }

  /** What was kept. */
  toString(): string {
    this.#trimTail(0);
    const gap = this.#dropped > 0 ? `\n… ${this.#dropped} bytes left out …\n` : "";
    return this.#head.join("") + gap + this.#tail.join("");
  }

  #pushTail(text: string): void {
    this.#tail.push(text);
    this.#tailBytes += Buffer.byteLength(text);
    // Trimming joins the pieces, so it waits until as much again has arrived.
    if (this.#tailBytes > this.#half * 2) this.#trimTail(0);
  }

  #trimTail(slack: number): void {
    if (this.#tailBytes <= this.#half + slack) return;
    const kept = lastBytes(this.#tail.join(""), this.#half);
    const keptBytes = Buffer.byteLength(kept);
    this.#dropped += this.#tailBytes - keptBytes;
    this.#tail = [kept];
    this.#tailBytes = keptBytes;
  }
}

/** At most the first `limit` bytes of `text`, never cut inside a character. */
function firstBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  let end = Math.min(limit, bytes.length);
  while (end > 0 && end < bytes.length && isContinuation(bytes[end])) end -= 1;
  return bytes.toString("utf8", 0, end);
}

/** At most the last `limit` bytes of `text`, never cut inside a character. */
function lastBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  let start = Math.max(0, bytes.length - limit);
  while (start < bytes.length && isContinuation(bytes[start])) start += 1;
  return bytes.toString("utf8", start);
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
