// A stream of events, and what of it is whole at each of its bytes.
const out = (text) => `event: stdout\ndata: ${JSON.stringify({ chunk: text })}\n\n`;
const pieces = ["a", "é😀", "line\n", "漢字".repeat(50), "\u0000\u0007", '"\\', "x".repeat(5000), "b"];

/** The stream, without an exit code. */
export const bytes = Buffer.from(pieces.map(out).join(": ka\n\n"));

const ends = pieces.map((_, index) =>
  Buffer.byteLength(
    pieces
      .slice(0, index + 1)
      .map(out)
      .join(": ka\n\n"),
  ),
);

/** The output of the events that are whole in the first `cut` bytes. */
export function wholeAt(cut) {
  return pieces.filter((_, index) => (ends[index] ?? 0) <= cut).join("");
}

/** Numbers that look random and are the same every time. */
export function random(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
