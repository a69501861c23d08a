// Electron allows no buffers over memory that is not V8's: bytes are copied there, and are the same.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { InstalledPackage } from "./installed.js";

let installed: InstalledPackage;
let electron: string;

beforeAll(() => {
  installed = new InstalledPackage();
  electron = join(installed.folder, "no-external-buffers.node");
  const source = join(import.meta.dirname, "no-external-buffers.c");
  execFileSync("cc", ["-shared", "-fPIC", "-Wall", "-Werror", "-o", electron, source]);
}, 60_000);
afterAll(() => installed?.remove());

/** Reads a file of 1 MiB and an empty one from a server of its own; prints what arrived and whether V8 owns the memory. */
const program = `
  const http = require("node:http");
  const bytes = Buffer.alloc(1 << 20, "0123456789abcdef");
  const server = http.createServer((request, response) => {
    const isFile = request.url.includes("path=");
    response.end(isFile ? (request.url.includes("empty") ? "" : bytes) : JSON.stringify({ id: "s", template: "t", status: "running", cpu: 1, memory_mb: 1 }));
  });
  server.listen(0, "127.0.0.1", async () => {
    const { Sandbox } = require("@pandastack/sdk");
    const sandbox = await Sandbox.get("s", { apiUrl: "http://127.0.0.1:" + server.address().port, apiKey: "none" });
    const read = await sandbox.filesystem.readBytes("/file");
    const empty = await sandbox.filesystem.readBytes("/empty");
    console.log(bytes.equals(read), empty.length);
    server.close();
    server.closeAllConnections();
  });`;

test("files arrive whole where external buffers are refused", async () => {
  expect(await installed.node(["-e", program])).toBe("true 0");
  expect(await installed.node(["-r", electron, "-e", program])).toMatch(/^true 0\n[1-9]\d* external buffers refused$/);
});
