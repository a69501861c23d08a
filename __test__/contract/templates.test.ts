import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { json, ScriptedServer } from "../support/scripted-server.js";

let server: ScriptedServer;
let folder: string;
beforeEach(async () => {
  server = await ScriptedServer.start();
  folder = mkdtempSync(join(tmpdir(), "pandastack-test-"));
});
afterEach(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

const BUILD = "POST /v1/templates/build";
const build = { id: "b", name: "t", status: "queued", started_at: "", size_mb: 1024 };

test.each(["a path", "bytes", "a buffer", "a blob"])("a root filesystem may be %s", async (kind) => {
  server.on(BUILD, json(build, 202));
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
  const path = join(folder, 'root"fs.tar');
  writeFileSync(path, bytes);
  const rootfs = { "a path": path, bytes, "a buffer": Uint8Array.from(bytes).buffer, "a blob": new Blob([bytes]) }[kind];
  expect(await server.client().templates.build({ name: "t", rootfs: rootfs ?? "", kernel: "k" })).toEqual(build);
  const [request] = server.seen(BUILD);
  const headers = { "content-type": request?.headers["content-type"] ?? "" };
  const form = await new Response(Uint8Array.from(request?.body ?? []), { headers }).formData();
  expect([form.get("name"), form.get("size_mb"), form.get("kernel")]).toEqual(["t", "1024", "k"]);
  const file = form.get("rootfs") as File;
  expect(Buffer.from(await file.arrayBuffer())).toEqual(bytes);
  expect(file.name).toBe(kind === "a path" ? 'root"fs.tar' : "rootfs.tar");
});

test("a large root filesystem is never in memory as a whole", async () => {
  const size = 512 << 20;
  const path = join(folder, "rootfs.tar");
  writeFileSync(path, "");
  truncateSync(path, size);
  let received = 0;
  server.raw(BUILD, (request, response) => {
    request.on("data", (piece: Buffer) => {
      received += piece.length;
    });
    request.on("end", () => response.writeHead(202, { "content-type": "application/json" }).end(JSON.stringify(build)));
  });
  const before = process.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 20);
  await server.client().templates.build({ name: "t", rootfs: path });
  clearInterval(timer);
  expect(received).toBeGreaterThan(size);
  expect(most - before).toBeLessThan(256 << 20);
});

test("a root filesystem that is not there is told before anything is sent", async () => {
  const building = server.client().templates.build({ name: "t", rootfs: join(folder, "missing.tar") });
  await expect(building).rejects.toMatchObject({ code: "ENOENT" });
  expect(server.requests).toHaveLength(0);
});

test("a refusal ends the upload and is told", async () => {
  server.raw(BUILD, (request, response) => {
    request.once("data", () => {
      request.resume();
      json({ error: "too large" }, 413)(response, {} as never);
    });
  });
  const path = join(folder, "rootfs.tar");
  writeFileSync(path, Buffer.alloc(1 << 20));
  await expect(server.client().templates.build({ name: "t", rootfs: path })).rejects.toMatchObject({
    statusCode: 413,
    message: "too large",
  });
});
