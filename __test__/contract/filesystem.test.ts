import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InvalidOptionError, NotFoundError } from "@pandastack/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { json, ScriptedServer } from "../support/scripted-server.js";

let server: ScriptedServer;
let folder: string;
beforeEach(async () => {
  server = await ScriptedServer.start();
  folder = mkdtempSync(join(tmpdir(), "pandastack-files-"));
});
afterEach(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

const FS = "/v1/sandboxes/sb/fs";
const BYTES = Buffer.from([0x89, 0x50, 0xff, 0x00, 0x0d, 0x0a, 0xef, 0xbb, 0xbf]);
const files = () => server.sandbox().filesystem;

test("fault 2.25: bytes arrive as they are; text keeps its byte order mark", async () => {
  server.on(`GET ${FS}`, (response) => response.end(BYTES));
  expect(await files().readBytes("/a b")).toEqual(BYTES);
  expect(server.requests[0]?.query.get("path")).toBe("/a b");
  server.on(`GET ${FS}`, (response) => response.end("\ufeffä"));
  expect(await files().read("/x")).toBe("\ufeffä");
});

test.each([
  ["text", "ä😀", Buffer.from("ä😀")],
  ["bytes", BYTES, BYTES],
  ["a view", BYTES.subarray(2, 4), BYTES.subarray(2, 4)],
  ["an ArrayBuffer", new Uint8Array([1, 2]).buffer, Buffer.from([1, 2])],
  ["nothing", "", Buffer.alloc(0)],
])("writes %s", async (_, content, expected) => {
  server.on(`PUT ${FS}`, json({ path: "/x", bytes: 1 }));
  expect(await files().write("/x", content as never)).toEqual({ path: "/x", bytes: 1 });
  expect(server.requests[0]?.body).toEqual(expected);
  expect(server.requests[0]?.headers["content-type"]).toBe("application/octet-stream");
});

test("writes a stream piece by piece", async () => {
  server.on(`PUT ${FS}`, json({ path: "/x", bytes: 3 }));
  async function* pieces() {
    yield "a";
    yield new Uint8Array([1, 2]);
  }
  await files().write("/x", pieces());
  expect(server.requests[0]?.body).toEqual(Buffer.from([97, 1, 2]));
  await files().write("/x", new Response("web").body as never);
  expect(server.requests[1]?.body.toString()).toBe("web");
});

test("a stream that fails breaks the write off", async () => {
  server.on(`PUT ${FS}`, json({ path: "/x", bytes: 1 }));
  async function* pieces() {
    yield "a";
    await new Promise((resolve) => setTimeout(resolve, 20));
    throw new Error("mine");
  }
  await expect(files().write("/x", pieces())).rejects.toThrow("mine");
  await server.until(() => server.sockets.size === 0);
  expect(server.requests).toHaveLength(0);
});

test("a refused stream raises the refusal", async () => {
  server.on(`PUT ${FS}`, json({ error: "too large" }, 413));
  async function* pieces() {
    for (let count = 0; count < 3; count += 1) yield new Uint8Array(1000);
  }
  await expect(files().write("/x", pieces())).rejects.toMatchObject({ name: "BadRequestError", message: "too large" });
});

test("uploads and downloads local files", async () => {
  const big = Buffer.alloc(3_000_000, "abc");
  writeFileSync(join(folder, "up"), big);
  server.on(`PUT ${FS}`, json({ path: "/x", bytes: big.length })).on(`GET ${FS}`, (response) => response.end(big));
  await files().upload(join(folder, "up"), "/x");
  expect(server.requests[0]?.body.equals(big)).toBe(true);
  await files().download("/x", join(folder, "deep/er/down"));
  expect(readFileSync(join(folder, "deep/er/down")).equals(big)).toBe(true);
});

test("fault 2.28: a download that fails leaves nothing, and the old file where there was one", async () => {
  writeFileSync(join(folder, "down"), "old");
  server.on(`GET ${FS}`, (response) => {
    response.writeHead(200, { "content-length": "1000" });
    response.write("half");
    setTimeout(() => response.destroy(), 20);
  });
  await expect(files().download("/x", join(folder, "down"))).rejects.toMatchObject({ name: "InterruptedError" });
  expect([readdirSync(folder), readFileSync(join(folder, "down"), "utf8")]).toEqual([["down"], "old"]);
  await expect(files().upload(join(folder, "missing"), "/x")).rejects.toMatchObject({ code: "ENOENT" });
});

test("a missing file is a NotFoundError, also from servers that answer 500", async () => {
  server.on(`GET ${FS}`, json({ error: "read /x: exit 1: cat: /x: No such file or directory" }, 500));
  const error = await files()
    .read("/x")
    .catch((error) => error);
  expect(error).toBeInstanceOf(NotFoundError);
  expect(error.message).toContain("`/x`");
  await expect(files().list("/y")).rejects.toBeInstanceOf(NotFoundError);
});

test("fault 2.14: exists asks once", async () => {
  server.on(`GET ${FS}/stat`, json({ error: "file does not exist" }, 404));
  expect(await files().exists("/x")).toBe(false);
  expect(server.requests).toHaveLength(1);
  server.on(`GET ${FS}/stat`, json({ error: "unauthorized" }, 401));
  await expect(files().exists("/x")).rejects.toMatchObject({ name: "AuthError" });
});

test("stat, list and walk fill in paths", async () => {
  const dirs: Record<string, object[] | null> = {
    "/": [
      { name: "a", is_dir: true, size: 0, mode: "d", mtime: 1 },
      { name: "f", is_dir: false, size: 2 ** 33, mode: "f", mtime: 2 },
    ],
    "/a": null,
  };
  server
    .on(`GET ${FS}/dir`, (response, request) =>
      json({ path: "", entries: dirs[request.query.get("path") ?? ""] })(response, request),
    )
    .on(`GET ${FS}/stat`, json({ is_dir: false, size: 1, mode: "f", mtime: 3 }));
  expect((await files().list()).map(({ path, size }) => [path, size])).toEqual([
    ["/a", 0],
    ["/f", 2 ** 33],
  ]);
  expect(await files().stat("/d/f")).toEqual({ name: "f", path: "/d/f", is_dir: false, size: 1, mode: "f", mtime: 3 });
  const walked = [];
  for await (const step of files().walk()) walked.push([step.dir, step.dirs.length, step.files.length]);
  expect(walked).toEqual([
    ["/", 1, 1],
    ["/a", 0, 0],
  ]);
});

test("remove", async () => {
  server.on(`DELETE ${FS}`, (response) => response.writeHead(204).end());
  await files().remove("/x");
  expect(server.requests[0]?.query.get("path")).toBe("/x");
});

test("leaving a read early closes the connection", async () => {
  server.on(`GET ${FS}`, (response) => {
    response.writeHead(200);
    response.write("first");
  });
  for await (const piece of files().readStream("/x")) {
    expect(piece.toString()).toBe("first");
    break;
  }
  await server.until(() => server.sockets.size === 0);
});

test.each(["", "rel", "./a", "/a\0b", 5, undefined])("refuses the path %o", async (path) => {
  const bad = path as never;
  const calls: Promise<unknown>[] = [
    files().read(bad),
    files().stat(bad),
    files().remove(bad),
    files().write(bad, "x"),
    files().readStream(bad).next(),
  ];
  for (const call of calls) await expect(call).rejects.toBeInstanceOf(InvalidOptionError);
  expect(server.requests).toHaveLength(0);
});
