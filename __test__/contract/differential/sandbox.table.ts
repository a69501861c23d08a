import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Row } from "./compare.js";
import { ID } from "./recording-server.js";

const json = (body: unknown, status = 200) => ({ status, type: "application/json", body: JSON.stringify(body) });
const SANDBOX = `/v1/sandboxes/${ID}`;
const RUN = `POST ${SANDBOX}/repl/sessions/59e225ba2a0e28e8/run`;
const sse = (body: string) => ({ status: 200, type: "text/event-stream; charset=utf-8", body });

export const sandboxRows: Row[] = [
  { name: "client.me", call: ({ client }) => client.me() },
  { name: "client.request", call: ({ client }) => client.request("GET", "/sandboxes", { query: { a: "b c/d", x: undefined } }) },
  { name: "client.request with a body", call: ({ client }) => client.request("POST", "volumes", { json: { a: [1, "é"] } }) },
  {
    name: "client.request of nothing",
    call: ({ client }) => client.request("POST", `/sandboxes/${ID}/pause`, { parseAs: "none" }),
  },
  {
    name: "sandboxes.create",
    call: ({ client }) =>
      client.sandboxes.create({
        template: "code-interpreter",
        ttlSeconds: 60,
        persistent: false,
        metadata: {},
        volumes: [{ name: "v", readOnly: true }, { name: "w" }],
        fromSnapshot: "s",
      }),
  },
  { name: "Sandbox.create", call: ({ sdk, client }) => sdk.Sandbox.create({ template: "base" }, client) },
  {
    name: "Sandbox.create without a template",
    call: ({ sdk, client }) => sdk.Sandbox.create({}, client),
    deviation: { id: "default-template", parts: ["body"] },
  },
  {
    name: "client.constructor",
    call: ({ sdk }) => {
      const { apiUrl, apiKey, timeoutMs } = new sdk.Client({ apiUrl: "http://a.example//", apiKey: "k", timeoutMs: 5 });
      return { apiUrl, apiKey, timeoutMs };
    },
  },
  {
    name: "Sandbox.fromInfo",
    call: ({ sdk, client }) => {
      const { id, template, status } = sdk.Sandbox.fromInfo(
        { id: "a", template: "t", cpu: 1, memory_mb: 1, status: "x" },
        client,
      );
      return { id, template, status };
    },
  },
  { name: "sandboxes.list", call: ({ client }) => client.sandboxes.list() },
  { name: "Sandbox.list", call: ({ sdk, client }) => sdk.Sandbox.list(client) },
  {
    name: "sandboxes.list of {items}",
    call: ({ client }) => client.sandboxes.list(),
    answers: { "GET /v1/sandboxes": json({ items: [{ id: "a", template: "t", cpu: 1, memory_mb: 1, status: "running" }] }) },
  },
  { name: "sandboxes.get", call: ({ client }) => client.sandboxes.get(ID) },
  {
    name: "Sandbox.get",
    call: ({ sdk, client }) => sdk.Sandbox.get("a b/c", client),
    answers: { "GET /v1/sandboxes/a%20b%2Fc": json({ id: "a b/c", template: "t", cpu: 1, memory_mb: 1, status: "running" }) },
  },
  { name: "sandboxes.delete", call: ({ client }) => client.sandboxes.delete(ID) },
  { name: "exec", call: ({ sandbox }) => sandbox.exec("echo hello", { timeoutSeconds: 5 }) },
  {
    name: "exec with check",
    fails: true,
    call: ({ sandbox }) => sandbox.exec("x", { check: true }),
    answers: { [`POST ${SANDBOX}/exec`]: json({ stdout: "a", stderr: "b", exit_code: 3 }) },
  },
  {
    name: "exec over its limit",
    fails: true,
    call: ({ sandbox }) => sandbox.exec("x"),
    answers: { [`POST ${SANDBOX}/exec`]: json({ error: "command timeout after 1s" }, 504) },
    deviation: { id: "no-command-text", parts: ["error"] },
  },
  { name: "commands.run", call: ({ sandbox }) => sandbox.commands.run("echo hello") },
  { name: "execStream", call: ({ sandbox }) => sandbox.execStream("x", { timeoutSeconds: 5 }) },
  {
    name: "execStream with callbacks",
    call: async ({ sandbox }) => {
      const seen: string[] = [];
      const code = await sandbox.execStream("x", {
        onStdout: (text) => void seen.push(`out ${text}`),
        onStderr: (text) => void seen.push(`err ${text}`),
      });
      return [code, seen.join("")];
    },
  },
  {
    name: "execStream that is cut",
    call: ({ sandbox }) => sandbox.execStream("x"),
    answers: { [`POST ${SANDBOX}/exec/stream`]: sse('event: stdout\ndata: {"chunk":"a"}\n\n') },
    deviation: { id: "cut-stream", parts: ["result", "error"] },
  },
  { name: "runCode of shell", call: ({ sandbox }) => sandbox.runCode("echo 1") },
  {
    name: "runCode of python",
    call: ({ sandbox }) => sandbox.runCode("print(1)", "python"),
    deviation: { id: "python-argument", parts: ["body"] },
  },
  { name: "createCodeContext", call: ({ sandbox }) => sandbox.createCodeContext("py") },
  {
    name: "context.runCode",
    call: async ({ context }) => {
      const { stdout, stderr, error, exit_code } = await context.runCode("1", { timeoutSeconds: 1.5 });
      return { stdout, stderr, error, exit_code };
    },
    deviation: { id: "cells-as-streams", parts: ["accept"] },
  },
  {
    name: "context.runCode with results",
    call: async ({ context }) => {
      const { results, png, text, error, exit_code } = await context.runCode("1");
      return { first: results[0]?.png, second: results[1]?.text, png, text, error, exit_code };
    },
    answers: {
      [RUN]: json({
        stdout: "",
        stderr: "",
        exit_code: 1,
        error: "boom",
        results: [
          { type: "image/png", data: "AAAA" },
          { type: "text/plain", data: "2" },
        ],
      }),
    },
    deviation: { id: "one-result-per-output", parts: ["accept", "result"] },
  },
  { name: "context.close", call: ({ context }) => context.close() },
  { name: "logs", call: ({ sandbox }) => sandbox.logs() },
  { name: "logs of one stream", call: ({ sandbox }) => sandbox.logs({ stream: "stderr", follow: false }) },
  {
    name: "logs that follow",
    call: ({ sandbox }) => sandbox.logs({ follow: true }),
    answers: { [`GET ${SANDBOX}/logs`]: sse('event: line\ndata: {"line":"a\\n"}\n\n: ka\n\ndata: b\n\n') },
  },
  { name: "kill", call: ({ sandbox }) => sandbox.kill() },
  {
    name: "kill of what is gone",
    fails: true,
    call: ({ sandbox }) => sandbox.kill(),
    answers: { [`DELETE ${SANDBOX}`]: json({ error: "not found" }, 404) },
    deviation: { id: "kill-is-idempotent", parts: ["requests", "error"] },
  },
  { name: "pause", call: ({ sandbox }) => sandbox.pause() },
  { name: "resume", call: ({ sandbox }) => sandbox.resume() },
  { name: "hibernate", call: ({ sandbox }) => sandbox.hibernate() },
  { name: "wake", call: ({ sandbox }) => sandbox.wake() },
  {
    name: "wake when running",
    fails: true,
    call: ({ sandbox }) => sandbox.wake(),
    answers: { [`POST ${SANDBOX}/wake`]: json({ error: "sandbox already running" }, 500) },
    deviation: { id: "wake-is-idempotent", parts: ["error"] },
  },
  { name: "snapshot", call: ({ sandbox }) => sandbox.snapshot() },
  { name: "fork", call: async ({ sandbox }) => (await sandbox.fork()).id },
  { name: "fork with metadata", call: async ({ sandbox }) => (await sandbox.fork({ metadata: { a: "b" } })).status },
  {
    name: "fork says only what it knows",
    call: ({ sandbox }) => sandbox.fork(),
    deviation: { id: "fork-info", parts: ["result"] },
  },
  {
    name: "fork without children",
    call: ({ sandbox }) => sandbox.fork(),
    answers: { [`POST ${SANDBOX}/fork`]: json({ children: [] }, 201) },
    deviation: { id: "fork-without-children", parts: ["result", "error"] },
  },
  {
    name: "forkTree",
    call: async ({ sandbox }) => (await sandbox.forkTree({ count: 2, metadata: { a: "b" } })).map(({ id }) => id),
  },
  {
    name: "promote",
    call: ({ sandbox }) => sandbox.promote({ cleanupSiblings: true, treeId: "t" }),
    answers: { [`POST ${SANDBOX}/promote`]: json({ winner: ID, tree_id: "t", deleted: ["a"], failures: {} }) },
  },
  {
    name: "promote without options",
    call: ({ sandbox }) => sandbox.promote(),
    deviation: { id: "promote-lists", parts: ["result"] },
  },
  {
    name: "explore",
    call: async ({ sandbox }) => {
      const candidates = ["1", "2"].map((cmd) => ({ label: cmd, cmd }));
      const scoreFn = (_: unknown, outcome: { label: string }) => Number(outcome.label);
      const options = { scoreFn, captureFiles: false, maxConcurrency: 1 };
      const { winner, treeId, outcomes, reaped, errors } = await sandbox.explore(candidates, options);
      return { winner: winner?.id, treeId, labels: outcomes.map(({ label, ok }) => [label, ok]), reaped, errors };
    },
    answers: {
      [`POST ${SANDBOX}/fork-tree`]: json({ children: ["a", "b"].map((id) => ({ id, metadata: { fork_tree_id: "t" } })) }, 201),
      "POST /v1/sandboxes/a/exec": json({ stdout: "", stderr: "", exit_code: 0 }),
      "POST /v1/sandboxes/b/exec": json({ stdout: "", stderr: "", exit_code: 0 }),
      "POST /v1/sandboxes/b/promote": json({ winner: "b", tree_id: "t", deleted: ["a"], failures: {} }),
      "DELETE /v1/sandboxes/a": { status: 204 },
    },
  },
  { name: "setTtl", call: ({ sandbox }) => sandbox.setTtl(900) },
  { name: "setPersistent", call: ({ sandbox }) => sandbox.setPersistent(true) },
  { name: "lifecycle", call: ({ sandbox }) => sandbox.lifecycle() },
  { name: "previewUrl", call: ({ sandbox }) => [sandbox.previewUrl(80), sandbox.previewUrl(1, "http")] },
  { name: "previewUrl of a bad port", fails: true, call: ({ sandbox }) => sandbox.previewUrl(0) },
  {
    name: "previewUrl with previewHost",
    call: ({ sandbox, client }) => {
      (client as { previewHost?: string }).previewHost = ".x.example";
      return sandbox.previewUrl(80);
    },
  },
  {
    name: "previewUrls",
    call: ({ sandbox }) => sandbox.previewUrls(),
    answers: { [`GET ${SANDBOX}/ports`]: json({ ports: [80, { port: 90 }] }) },
  },
  { name: "asyncDispose", call: ({ sandbox }) => sandbox[Symbol.asyncDispose]() },
  { name: "asyncDispose of a context", call: ({ context }) => context[Symbol.asyncDispose]() },
  {
    name: "filesystem.read",
    call: ({ sandbox }) => sandbox.filesystem.read("/root/a b&c.txt"),
    deviation: { id: "bytes-accepted", parts: ["accept"] },
  },
  { name: "filesystem.write of text", call: ({ sandbox }) => sandbox.filesystem.write("/root/a.txt", "é") },
  { name: "filesystem.write of bytes", call: ({ sandbox }) => sandbox.filesystem.write("/root/a.txt", new Uint8Array([1, 2])) },
  { name: "filesystem.upload", call: ({ sandbox }) => sandbox.filesystem.upload(fileURLToPath(import.meta.url), "/root/a.txt") },
  {
    name: "filesystem.download",
    call: async ({ sandbox }) => {
      const path = join(mkdtempSync(join(tmpdir(), "pandastack-")), "a", "b.txt");
      await sandbox.filesystem.download("/root/a.txt", path);
      return readFileSync(path, "utf8");
    },
    deviation: { id: "bytes-accepted", parts: ["accept"] },
  },
  { name: "filesystem.list", call: ({ sandbox }) => sandbox.filesystem.list("/root/") },
  { name: "filesystem.list of the root", call: ({ sandbox }) => sandbox.filesystem.list() },
  { name: "filesystem.stat", call: ({ sandbox }) => sandbox.filesystem.stat("/root/a.txt") },
  { name: "filesystem.exists", call: ({ sandbox }) => sandbox.filesystem.exists("/root/a.txt") },
  {
    name: "filesystem.exists of nothing",
    call: ({ sandbox }) => sandbox.filesystem.exists("/x"),
    answers: { [`GET ${SANDBOX}/fs/stat`]: json({ error: "file does not exist" }, 404) },
    deviation: { id: "one-request-for-404", parts: ["requests"] },
  },
  {
    name: "filesystem.walk",
    call: ({ sandbox }) => sandbox.filesystem.walk("/root"),
    answers: {
      [`GET ${SANDBOX}/fs/dir`]: json({ path: "/root", entries: [{ name: "a", is_dir: false, size: 1, mode: "f", mtime: 1 }] }),
    },
  },
];
