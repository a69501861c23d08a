import { inspect } from "node:util";
import { AbortError, type RetryInfo } from "@pandastack/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { json, ScriptedServer, silence, sse } from "../support/scripted-server.js";

let server: ScriptedServer;
beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.stop());

describe("timeoutMs", () => {
  test.each([
    ["me", () => server.client().me({ timeoutMs: 60 })],
    ["kill", () => server.sandbox().kill({ timeoutMs: 60 })],
    ["snapshot", () => server.sandbox().snapshot({ timeoutMs: 60 })],
    ["volumes.list", () => server.client().volumes.list({ timeoutMs: 60 })],
    ["filesystem.read", () => server.sandbox().filesystem.read("/x", { timeoutMs: 60 })],
    ["createCodeContext", () => server.sandbox().createCodeContext({ timeoutMs: 60 })],
    ["sandboxes.create", () => server.client().sandboxes.create({ timeoutMs: 60 })],
  ])("ends %s", async (_, start) => {
    for (const route of ["GET /v1/me", "DELETE /v1/sandboxes/sb", "POST /v1/sandboxes/sb/snapshots", "GET /v1/volumes"])
      server.on(route, silence);
    for (const route of ["GET /v1/sandboxes/sb/fs", "POST /v1/sandboxes/sb/repl/sessions", "POST /v1/sandboxes"])
      server.on(route, silence);
    await expect(start()).rejects.toMatchObject({ name: "TimeoutError", code: "timeout" });
  });

  test("may be longer than the client's", async () => {
    server.on("GET /v1/me", async (response, request) => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      json({ user_id: "u" })(response, request);
    });
    const client = server.client({ timeoutMs: 50 });
    expect(await client.me({ timeoutMs: 10_000 })).toMatchObject({ user_id: "u" });
    await expect(client.me()).rejects.toMatchObject({ name: "TimeoutError" });
  });

  test.each([0, -1, 1.5, Number.NaN, 2 ** 31])("refuses %d", async (timeoutMs) => {
    await expect(server.client().me({ timeoutMs })).rejects.toMatchObject({ name: "InvalidOptionError" });
  });
});

describe("close", () => {
  test("ends calls and streams that are under way, and later ones", async () => {
    server.on("GET /v1/me", silence).on("POST /v1/sandboxes/sb/exec/stream", sse(["event: stdout\ndata: {}\n\n", 60_000]));
    const client = server.client();
    const sandbox = (await import("@pandastack/sdk")).Sandbox.fromInfo(server.sandbox().info, client);
    const calls = [client.me(), sandbox.execStream("x")].map((call) => call.catch((error) => error));
    await server.until(() => server.requests.length === 2);
    client.close();
    for (const error of await Promise.all(calls)) expect(error).toBeInstanceOf(AbortError);
    await expect(client.volumes.list()).rejects.toMatchObject({ name: "AbortError", message: "the client is closed" });
    await server.until(() => server.sockets.size === 0);
  });
});

describe("onRetry and logger", () => {
  test("are told about every retry", async () => {
    server.on("GET /v1/volumes", json({ error: "slow down" }, 429, { "retry-after": "0" }), json([]));
    const retries: RetryInfo[] = [];
    const client = server.client({ onRetry: (retry) => retries.push(retry) });
    expect(await client.volumes.list()).toEqual([]);
    await server.until(() => retries.length === 1);
    expect(retries[0]).toMatchObject({
      method: "GET",
      path: "/volumes",
      attempt: 1,
      code: "rate_limit",
      statusCode: 429,
      message: "slow down",
    });
    expect(retries[0]?.delayMs).toBeTypeOf("number");
  });

  test("a hook that throws breaks nothing", async () => {
    server.on("GET /v1/volumes", json({ error: "slow down" }, 429, { "retry-after": "0" }), json([]));
    const warned = new Promise((resolve) => process.once("warning", resolve));
    const onRetry = () => {
      throw new Error("mine");
    };
    expect(await server.client({ onRetry }).volumes.list()).toEqual([]);
    expect(String(await warned)).toContain("mine");
  });

  test("hooks that reject or throw oddly break neither the call nor the process", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    const rejects = async () => {
      throw new Error("mine");
    };
    const throws = () => {
      throw Object.create(null);
    };
    for (const hook of [rejects, throws]) {
      server.on("GET /v1/volumes", json({ error: "slow down" }, 429, { "retry-after": "0" }), json([]));
      const client = server.client({ onRetry: hook, logger: { debug: hook, info: hook, warn: hook } });
      expect(await client.volumes.list()).toEqual([]);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });

  test("a client that is logged shows no key", () => {
    const shown = inspect(server.sandbox({ apiKey: "pds_secret" }), { depth: 9 });
    expect(shown).not.toContain("pds_secret");
    expect(server.client({ apiKey: "pds_secret" }).apiKey).toBe("pds_secret");
  });

  test("a logger sees calls, failures and no secrets", async () => {
    server.on("GET /v1/me", json({})).on("POST /v1/sandboxes/sb/exec", json({ error: "no" }, 400));
    const lines: string[] = [];
    const logger = {
      debug: (message: string, fields: object) => lines.push(`debug ${message} ${JSON.stringify(fields)}`),
      warn: (message: string, fields: object) => lines.push(`warn ${message} ${JSON.stringify(fields)}`),
    };
    const sandbox = server.sandbox({ logger });
    await sandbox.exec("echo secret-command").catch(() => undefined);
    await server.client({ logger }).me();
    await server.until(() => lines.length === 2);
    expect(lines[0]).toMatch(/^warn exec failed \{"durationMs":\d+,"code":"bad_request","statusCode":400/);
    expect(lines[1]).toMatch(/^debug me \{"durationMs":\d+\}$/);
    expect(lines.join()).not.toMatch(/secret-command|pds_test/);
  });
});
