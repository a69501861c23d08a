import { expect, test } from "vitest";
import { OutputBuffer } from "../../dist/output.js";

const kept = (limit: number, ...pieces: string[]) => {
  const buffer = new OutputBuffer(limit);
  for (const piece of pieces) buffer.push(piece);
  return [buffer.toString(), buffer.truncated] as const;
};

test("what fits is kept as it is", () => {
  expect(kept(10, "12345", "67890")).toEqual(["1234567890", false]);
  expect(kept(10)).toEqual(["", false]);
});

test("head and tail are kept, whatever the pieces", () => {
  const text = "abcdefghijklmnopqrstuvwxyz";
  const expected = ["abcde\n… 16 bytes left out …\nvwxyz", true];
  expect(kept(10, text)).toEqual(expected);
  expect(kept(10, ...text)).toEqual(expected);
  expect(kept(10, text.slice(0, 7), text.slice(7))).toEqual(expected);
});

test("no character is cut", () => {
  const [text] = kept(8, "😀😀😀😀😀😀");
  expect(text).toBe("😀\n… 16 bytes left out …\n😀");
  expect(kept(6, "äääääääää")[0]).not.toContain("\ufffd");
});

test("memory stays within the limit", () => {
  const buffer = new OutputBuffer(1000);
  for (let count = 0; count < 10_000; count += 1) buffer.push("0123456789".repeat(10));
  expect(buffer.toString().length).toBeLessThan(1100);
});

test("any pieces give the same head and tail", () => {
  const text = Array.from({ length: 300 }, (_, index) => ["a", "é", "漢", "😀"][(index * 7) % 4]).join("");
  const bytes = Buffer.from(text);
  for (const limit of [1, 2, 5, 64, 101, 400, 5000]) {
    for (const size of [1, 3, 40, 250]) {
      const characters = [...text];
      const pieces = Array.from({ length: Math.ceil(characters.length / size) }, (_, index) =>
        characters.slice(index * size, (index + 1) * size).join(""),
      );
      const half = Math.max(1, Math.floor(limit / 2));
      const [found, truncated] = kept(limit, ...pieces);
      const [head = "", tail] = found.split(/\n… \d+ bytes left out …\n/);
      expect(text.startsWith(head) && text.endsWith(tail ?? "")).toBe(true);
      expect(truncated).toBe(tail !== undefined);
      expect(Buffer.byteLength(head)).toBeLessThanOrEqual(truncated ? half : 2 * half);
      expect(Buffer.byteLength(tail ?? "")).toBeLessThanOrEqual(half);
      if (truncated) expect(Number(found.match(/… (\d+) bytes/)?.[1])).toBe(bytes.length - Buffer.byteLength(head + tail));
      else expect(found).toBe(text);
    }
  }
});
