import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NotFoundError, type TransferProgress } from "@pandastack/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { json, type Reply, ScriptedServer } from "../support/scripted-server.js";

let server: ScriptedServer;
let folder: string;
beforeEach(async () => {
  server = await ScriptedServer.start();
  folder = mkdtempSync(join(tmpdir(), "pandastack-"));
});
afterEach(() => server.stop());

const EXEC = "POST /v1/sandboxes/sb/exec";
const DIR = "GET /v1/sandboxes/sb/fs/dir";
const commands = () => server.seen(EXEC).map(({ body }) => JSON.parse(body.toString()).cmd);
const ok = json({ stdout: "", stderr: "", exit_code: 0 });
const entry = (name: string, more: object = {}) => ({ name, is_dir: false, size: 1, mode: "f", mtime: 0, ...more });

test("fault 2.26: changes to files are commands whose words are quoted", async () => {
  server.on(EXEC, ok);
  const { filesystem } = server.sandbox();
  await filesystem.mkdir("/a b/c'd\n😀");
  await filesystem.rename("/-a", "/b;rm");
  await filesystem.copy("/a", "/$b", { recursive: true });
  await filesystem.chmod("/a", 0o644);
  await filesystem.chmod("/a", "u+x,go-w");
  expect(commands()).toEqual([
    "mkdir -p -- '/a b/c'\\''d\n😀'",
    "mv -f -T -- /-a '/b;rm'",
    "cp -a -T -- /a '/$b'",
    "chmod -- 644 /a",
    "chmod -- u+x,go-w /a",
  ]);
});

test("what a command says is the error", async () => {
  server.on(EXEC, json({ stdout: "", stderr: "mv: cannot stat '/a': No such file or directory\n", exit_code: 1 }));
  await expect(server.sandbox().filesystem.rename("/a", "/b")).rejects.toBeInstanceOf(NotFoundError);
});

test.each([[-1], [0o10000], ["x; rm"], [""], [1.5]])("chmod refuses the mode %o", async (mode) => {
  await expect(server.sandbox().filesystem.chmod("/a", mode)).rejects.toMatchObject({ name: "InvalidOptionError" });
  expect(server.requests).toHaveLength(0);
});

test("a file's transfer tells how far it is", async () => {
  const local = join(folder, "big");
  writeFileSync(local, Buffer.alloc(3_000_000));
  server.on("PUT /v1/sandboxes/sb/fs", json({ path: "/a", bytes: 3_000_000 }));
  server.on("GET /v1/sandboxes/sb/fs", (response) => response.end(Buffer.alloc(3_000_000)));
  const steps: number[][] = [[], []];
  const { filesystem } = server.sandbox();
  await filesystem.upload(local, "/a", { onProgress: (bytes) => steps[0]?.push(bytes) });
  await filesystem.download("/a", local, { onProgress: (bytes) => steps[1]?.push(bytes) });
  for (const [first, ...rest] of steps) expect([first ?? 0, ...rest].at(-1)).toBe(3_000_000);
  expect(steps[0]?.length).toBeGreaterThan(1);
  const refused = filesystem.download("/a", join(folder, "never"), {
    onProgress: () => {
      throw new Error("enough");
    },
  });
  await expect(refused).rejects.toThrow("enough");
  expect(readdirSync(folder)).toEqual(["big"]);
});

test("a directory goes up with all in it, links left out", async () => {
  mkdirSync(join(folder, "x/empty"), { recursive: true });
  writeFileSync(join(folder, "a.txt"), "a");
  writeFileSync(join(folder, "x/b c.bin"), Buffer.from([0, 255]));
  symlinkSync(join(folder, "a.txt"), join(folder, "link"));
  server.on(EXEC, ok).on("PUT /v1/sandboxes/sb/fs", json({ path: "", bytes: 1 }));
  const progress: TransferProgress[] = [];
  await server.sandbox().filesystem.uploadDirectory(folder, "/to/", { onProgress: (step) => progress.push(step) });
  expect(commands()).toEqual(["mkdir -p -- /to /to/x /to/x/empty"]);
  const files = server.seen("PUT /v1/sandboxes/sb/fs").map(({ query, body }) => [query.get("path"), body.length]);
  expect(files.sort()).toEqual([
    ["/to/a.txt", 1],
    ["/to/x/b c.bin", 2],
  ]);
  expect(progress.at(-1)).toMatchObject({ files: 2, totalFiles: 2, bytes: 3, totalBytes: 3 });
});

/** Directories of the sandbox by path. */
function tree(dirs: Record<string, object[]>): Reply {
  return (response, request) => {
    const path = request.query.get("path")?.replace(/\/$/, "") ?? "";
    json({ path, entries: dirs[path] ?? [] })(response, request);
  };
}

test("a directory comes down with all in it, links and devices left out", async () => {
  const inner = [entry("b", { mode: "-rw-r--r--" }), entry("pipe", { mode: "p" }), entry("link", { mode: "l" })];
  server.on(DIR, tree({ "/from": [entry("a"), entry("x", { is_dir: true, mode: "d" })], "/from/x": inner }));
  server.on("GET /v1/sandboxes/sb/fs", (response) => response.end("data"));
  await server.sandbox().filesystem.downloadDirectory("/from", join(folder, "to"));
  expect(readdirSync(join(folder, "to"), { recursive: true }).sort()).toEqual(["a", "x", "x/b"]);
  expect(readFileSync(join(folder, "to/x/b"), "utf8")).toBe("data");
});

test.each(["..", "../evil", "a/../../evil", "", "."])("a name that leads elsewhere is refused: %o", async (name) => {
  server.on(DIR, tree({ "/from": [entry(name)] })).on("GET /v1/sandboxes/sb/fs", (response) => response.end("evil"));
  await expect(server.sandbox().filesystem.downloadDirectory("/from", join(folder, "to"))).rejects.toThrow("not a file name");
  expect(existsSync(join(folder, "evil"))).toBe(false);
});

test("a tree without an end has one here", async () => {
  server.on(DIR, (response, request) => json({ entries: [entry("x", { is_dir: true })] })(response, request));
  await expect(server.sandbox().filesystem.downloadDirectory("/from", folder)).rejects.toThrow("nested deeper");
});

test("walk goes on after a directory that cannot be read, if told to", async () => {
  server.on(DIR, (response, request) => {
    const path = request.query.get("path");
    if (path === "/secret") json({ error: "permission denied" }, 403)(response, request);
    else tree({ "": [entry("secret", { is_dir: true }), entry("z", { is_dir: true })] })(response, request);
  });
  const failed: string[] = [];
  const dirs: string[] = [];
  for await (const { dir } of server.sandbox().filesystem.walk("/", { onError: (_, path) => failed.push(path) })) dirs.push(dir);
  expect([dirs, failed]).toEqual([["/", "/z"], ["/secret"]]);
  const walk = server.sandbox().filesystem.walk("/");
  await walk.next();
  await expect(walk.next()).rejects.toMatchObject({ name: "AuthError" });
});

test("fault 2.26: walk follows links to directories if told to, and each directory once", async () => {
  const link = { mode: "l" };
  const trees: Record<string, object[]> = {
    "/": [entry("a", { is_dir: true, mode: "d" }), entry("to b", link), entry("broken", link)],
    "/a": [entry("up", link), entry("f")],
    "/b": [entry("g"), entry("again", link)],
  };
  server.on(DIR, (response, request) => json({ entries: trees[request.query.get("path") ?? ""] ?? [] })(response, request));
  const leads: Record<string, string> = { "/": "/", "/to b": "/b", "/broken": "", "/a/up": "/", "/to b/again": "/b" };
  server.on(EXEC, (response, request) => {
    const words = [...JSON.parse(request.body.toString()).cmd.matchAll(/ sh ((?:'[^']*'|\S+)(?: (?:'[^']*'|\S+))*)$/g)][0][1];
    const paths = [...words.matchAll(/'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2]);
    const stdout = paths.map((path) => `${leads[path]}\0`).join("");
    json({ stdout, stderr: "", exit_code: 0 })(response, request);
  });
  const steps: unknown[] = [];
  for await (const { dir, dirs, files } of server.sandbox().filesystem.walk("/", { followSymlinks: true }))
    steps.push([dir, dirs.map(({ path }) => path), files.map(({ path }) => path)]);
  expect(steps).toEqual([
    ["/", ["/a", "/to b"], ["/broken"]],
    ["/a", ["/a/up"], ["/a/f"]],
    ["/to b", ["/to b/again"], ["/to b/g"]],
  ]);
});
