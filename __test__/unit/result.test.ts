import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InvalidOptionError, Result } from "@pandastack/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47]).toString("base64");
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pandastack-result-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("only what is there is there", () => {
  expect(Object.keys(new Result({ "text/plain": "x" }))).toEqual(["data", "isMain", "text"]);
  expect(new Result({ "text/plain": "" }).text).toBe("");
  expect(new Result({ "image/png": "" }).png).toBeUndefined();
});

test("JSON is parsed; what is none stays text", () => {
  expect(new Result({ "application/json": '{"a":[1]}' }).json).toEqual({ a: [1] });
  expect(new Result({ "application/json": "{" }).json).toBe("{");
});

test("the chart is its data where the server sends it, else the picture", () => {
  expect(new Result({ "image/png": PNG, "application/vnd.pandastack.chart+json": '{"type":"line"}' }).chart).toEqual({
    type: "line",
  });
  expect(new Result({ "image/svg+xml": "<svg/>", "image/png": PNG }).chart).toBe(PNG);
});

test("bytes of the best type, or of the one that is asked for", () => {
  const result = new Result({ "text/plain": "ä", "image/png": PNG, "image/svg+xml": "<svg/>" });
  expect(result.bytes()).toEqual(Buffer.from(PNG, "base64"));
  expect(result.bytes("text/plain").toString()).toBe("ä");
  expect(result.bytes("image/svg+xml").toString()).toBe("<svg/>");
  expect(() => result.bytes("text/html")).toThrow(InvalidOptionError);
  expect(() => new Result({}).bytes()).toThrow("it has: nothing");
});

test.each([
  ["a/b/chart.png", Buffer.from(PNG, "base64")],
  ["page.HTML", Buffer.from("<p>")],
  ["text.txt", Buffer.from("t")],
  ["unknown.xyz", Buffer.from(PNG, "base64")],
])("saves as %s", async (name, expected) => {
  const path = join(folder, name);
  expect(await new Result({ "image/png": PNG, "text/html": "<p>", "text/plain": "t" }).save(path)).toBe(path);
  expect(readFileSync(path)).toEqual(expected);
});

test("a type that is not there is not saved as another", async () => {
  await expect(new Result({ "text/plain": "t" }).save(join(folder, "x.png"))).rejects.toThrow("image/png");
});
