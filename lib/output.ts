/**
 * Collects output within a limit.
 *
 * @internal
 */

/** Bytes of each stream that are kept unless the caller chooses another limit. */
export const DEFAULT_OUTPUT_LIMIT = 16 * 1024 * 1024;

/** Keeps the head and the tail of a text; what is dropped between them is counted. Its memory does not depend on the text's length. */
export class OutputBuffer {
  readonly #half: number;
  readonly #head: string[] = [];
  #headBytes = 0;
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
    const bytes = Buffer.byteLength(text);
    const room = this.#half - this.#headBytes;
    if (bytes <= room) {
      this.#head.push(text);
      this.#headBytes += bytes;
      return;
    }
    const head = room > 0 ? firstBytes(text, room) : "";
    if (head) this.#head.push(head);
    this.#headBytes = this.#half;
    this.#pushTail(text.slice(head.length));
  }

  /** What was kept. */
  toString(): string {
    const tail = this.#keptTail();
    const dropped = this.#tailBytes - tail.length;
    const gap = dropped > 0 ? `\n… ${dropped} bytes left out …\n` : "";
    return this.#head.join("") + gap + tail.toString("utf8");
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
