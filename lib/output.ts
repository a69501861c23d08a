/**
 * Collects output within a limit.
 *
 * @internal
 */

/** Bytes of each stream that are kept unless the caller chooses another limit. */
export const DEFAULT_OUTPUT_LIMIT = 16 * 1024 * 1024;

/** Most bytes that one unit of a JavaScript string takes in UTF-8. */
const MOST_BYTES = 3;

/**
 * Keeps the head and the tail of a text; what is dropped between them is counted. Its memory does not depend on the text's length, and
 * is outside of the heap: strings that live long would make the collector of short-lived ones take more.
 */
export class OutputBuffer {
  readonly #half: number;
  #head = Buffer.alloc(0);
  #headBytes = 0;
  #headIsFull = false;
  /** A ring: the last bytes of the text, in UTF-8. */
  #tail: Buffer | undefined;
  /** Where the next byte of the tail goes. */
  #next = 0;
  /** Bytes after the head, also those that are no longer kept. */
  #tailBytes = 0;

  constructor(limit: number = DEFAULT_OUTPUT_LIMIT) {
    this.#half = Math.max(1, Math.floor(limit / 2));
  }

  /** True if something was dropped. */
  get truncated(): boolean {
    return this.#tailBytes > this.#half;
  }

  /** Takes the next piece. */
  push(text: string): void {
    const rest = this.#headIsFull ? text : this.#pushHead(text);
    if (rest) this.#pushTail(rest);
  }

  /** What was kept. */
  toString(): string {
    const tail = this.#keptTail();
    const dropped = this.#tailBytes - tail.length;
    const gap = dropped > 0 ? `\n… ${dropped} bytes left out …\n` : "";
    return this.#head.toString("utf8", 0, this.#headBytes) + gap + tail.toString("utf8");
  }

  /** Takes what fits into the head; returns the rest. */
  #pushHead(text: string): string {
    const room = this.#half - this.#headBytes;
    const most = text.length * MOST_BYTES;
    this.#headIsFull = most > room && Buffer.byteLength(text) > room;
    const head = this.#headIsFull ? firstBytes(text, room) : text;
    this.#reserve(this.#headBytes + Math.min(most, room));
    this.#headBytes += this.#head.write(head, this.#headBytes);
    return text.slice(head.length);
  }

  #reserve(bytes: number): void {
    if (this.#head.length >= bytes) return;
    const larger = Buffer.allocUnsafeSlow(Math.min(this.#half, Math.max(bytes, 2 * this.#head.length)));
    this.#head.copy(larger, 0, 0, this.#headBytes);
    this.#head = larger;
  }

  #pushTail(text: string): void {
    this.#tail ??= Buffer.allocUnsafeSlow(this.#half);
    const bytes = Buffer.from(text);
    this.#tailBytes += bytes.length;
    const kept = bytes.subarray(Math.max(0, bytes.length - this.#half));
    const untilEnd = Math.min(kept.length, this.#half - this.#next);
    kept.copy(this.#tail, this.#next, 0, untilEnd);
    kept.copy(this.#tail, 0, untilEnd);
    this.#next = (this.#next + kept.length) % this.#half;
  }

  /** The tail in order, never cut inside a character. */
  #keptTail(): Buffer {
    if (!this.#tail) return Buffer.alloc(0);
    if (!this.truncated) return this.#tail.subarray(0, this.#tailBytes);
    const bytes = Buffer.concat([this.#tail.subarray(this.#next), this.#tail.subarray(0, this.#next)]);
    let start = 0;
    while (start < bytes.length && isContinuation(bytes[start])) start += 1;
    return bytes.subarray(start);
  }
}

/** At most the first `limit` bytes of `text`, never cut inside a character. */
function firstBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  let end = Math.min(limit, bytes.length);
  while (end > 0 && end < bytes.length && isContinuation(bytes[end])) end -= 1;
  return bytes.toString("utf8", 0, end);
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
