// What a wrong option is told, in words of the product.
import { expect, test } from "vitest";
import { Client, Sandbox } from "../../dist/index.js";

const nowhere = { apiUrl: "http://127.0.0.1:9", apiKey: "pds_test" };
const info = { id: "sb", template: "t", cpu: 1, memory_mb: 512, status: "running" };
const sandbox = Sandbox.fromInfo(info as never, new Client(nowhere));
// biome-ignore lint/suspicious/noExplicitAny: the options are wrong on purpose
const wrong = (options: unknown) => options as any;

const cases: [string, () => Promise<unknown>][] = [
  ["forkTree: option `count`: must be at most 16, not: `99`", () => sandbox.forkTree(wrong({ count: 99 }))],
  ["forkTree: option `count`: must be at least 1, not: `0`", () => sandbox.forkTree(wrong({ count: 0 }))],
  ["forkTree: option `count`: must be a number, not a string", () => sandbox.forkTree(wrong({ count: "2" }))],
  ["forkTree: option `count`: must be a whole number, not `1.5`", () => sandbox.forkTree(wrong({ count: 1.5 }))],
  ["forkTree: option `count`: is missing: must be a number", () => sandbox.forkTree(wrong({}))],
  ["forkTree: option `metadata.a`: must be a string, not `1`", () => sandbox.forkTree(wrong({ count: 2, metadata: { a: 1 } }))],
  ["fork: option `metadata`: must be an object, not `3`", () => sandbox.fork(wrong({ metadata: 3 }))],
  ["exec: option `env.KEY`: must be a string, not an array", () => sandbox.exec("x", wrong({ env: { KEY: ["pds_secret"] } }))],
  ["exec: option `cwd`: must be a string, not `null`", () => sandbox.exec("x", wrong({ cwd: null }))],
  ["createCodeContext: option `language`: must be a string, not `5`", () => sandbox.createCodeContext(wrong({ language: 5 }))],
  [
    "Sandbox.create: option `limits.cpu`: must be a number, not a string",
    () => Sandbox.create(wrong({ limits: { cpu: "x" } }), nowhere),
  ],
];

test.each(cases)("%s", async (message, call) => {
  await expect(call()).rejects.toThrow(message);
});
