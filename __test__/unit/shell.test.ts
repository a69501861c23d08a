import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { joined, quoted, wrapped } from "../../dist/shell.js";

const words = ["", "a b", "it's", "$HOME `id` $(id)", "new\nline", "-n", "*", "ä", "\\", '"', "a=b"];

test("every word arrives as it is", () => {
  const shown = execFileSync("sh", ["-c", `set -- ${joined(words)}; printf '%s\\0' "$@"`]).toString();
  expect(shown.split("\0").slice(0, -1)).toEqual(words);
  expect(quoted("plain/word-1.2")).toBe("plain/word-1.2");
  expect(() => quoted("a\0b")).toThrow("NUL");
});

test("a command keeps its meaning in its own folder and environment", () => {
  const run = (command: string) => execFileSync("sh", ["-c", command]).toString();
  expect(run(wrapped('echo "$K" && pwd; exit 0', "/usr", { K: "v'$x" }))).toBe("v'$x\n/usr\n");
  expect(() => run(wrapped("echo never", "/no such", undefined))).toThrow();
  expect(() => wrapped("x", undefined, { "A;B": "" })).toThrow("`A;B`");
});
