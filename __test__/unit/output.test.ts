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
