import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, InvalidOptionError, NotFoundError, Sandbox } from "@pandastack/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { json, ScriptedServer, silence } from "../support/scripted-server.js";

let server: ScriptedServer;
beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.stop());

const INFO = { id: "sb", template: "code-interpreter", cpu: 2, memory_mb: 512, status: "running" };
const CREATE = "POST /v1/sandboxes";
const DELETE = "DELETE /v1/sandboxes/sb";
const gone = (response: import("node:http").ServerResponse) => response.writeHead(204).end();
const body = () => JSON.parse(server.requests[0]?.body.toString() ?? "null");

describe("create", () => {
  test("sends what was chosen and keeps what the server says, also unknown fields", async () => {
    server.on(CREATE, json({ ...INFO, region: { name: "x" }, big: 2 ** 40 }, 201));
    const options = { ttlSeconds: 60, metadata: { a: "b" }, fromSnapshot: "sn", volumes: [{ name: "v", readOnly: true }] };
    const sandbox = await Sandbox.create(options, server.client());
    expect(body()).toEqual({
      template: "code-interpreter",
      ttl_seconds: 60,
      metadata: { a: "b" },
      from_snapshot: "sn",
      volumes: [{ name: "v", read_only: true }],
    });
    expect([sandbox.id, sandbox.template, sandbox.status]).toEqual(["sb", "code-interpreter", "running"]);
    expect(sandbox.info).toMatchObject({ region: { name: "x" }, big: 2 ** 40 });
    expect(server.requests[0]?.headers).toMatchObject({ authorization: "Bearer pds_test", accept: "application/json" });
    expect(server.requests[0]?.headers["user-agent"]).toMatch(/^pandastack-sdk\/\d+\.\d+\.\d+$/);
  });

  test("sends what it may reach and its secrets", async () => {
    server.on(CREATE, json(INFO, 201));
    const egress = { allow: ["example.com:443"], deny: ["10.0.0.0/8"] };
    const secrets = { KEY: { value: "hush", hosts: ["api.example.com"] } };
    await Sandbox.create({ egress, secrets }, server.client());
    expect(body()).toEqual({ template: "code-interpreter", egress, secrets });
  });

  test("refuses secrets and rules that are none, without a secret's value", async () => {
    for (const options of [
      { egress: "some" },
      { egress: { allow: "example.com" } },
      { egress: { alow: [] } },
      { secrets: { KEY: { value: "hush\n", hosts: ["a.example"] } } },
      { secrets: { "a b": { value: "hush", hosts: ["a.example"] } } },
      { secrets: { KEY: { value: "hush", hosts: [] } } },
    ]) {
      const error = await Sandbox.create(options as never, server.client()).catch((error) => error);
      expect(error).toBeInstanceOf(InvalidOptionError);
      expect(error.message).toMatch(/^Sandbox\.create: /);
      expect(error.message).not.toContain("hush");
    }
    expect(server.requests).toEqual([]);
  });

  test("takes both spellings, if they agree", async () => {
    server.on(CREATE, json(INFO, 201));
    const { sandboxes } = server.client();
    await sandboxes.create({ ttlSeconds: 2, ttl_seconds: 2, from_snapshot: "b" });
    expect(body()).toMatchObject({ ttl_seconds: 2, from_snapshot: "b" });
    const volumes = [{ name: "v", readOnly: true, read_only: false }];
    const error = await sandboxes.create({ ttlSeconds: 1, ttl_seconds: 2, volumes }).catch((error) => error);
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error.message).toBe(
      "Sandbox.create: option `ttlSeconds` is also given as `ttl_seconds`, with another value: `1` and `2`; " +
        "option `readOnly` is also given as `read_only`, with another value: `true` and `false`",
    );
    expect(server.requests).toHaveLength(1);
  });

  test("sends the limits that were chosen, and refuses others before anything is sent", async () => {
    server.on(CREATE, json({ ...INFO, limits: { memory_mb: 1024, gpus: 1 } }, 201));
    const limits = { cpu: 0.5, memoryMb: 1024, processes: 64, diskGb: 2, openFiles: 99, cellSeconds: 5, outputBytes: 2048 };
    const sandbox = await server.client().sandboxes.create({ limits });
    expect(body().limits).toEqual({
      cpu: 0.5,
      memory_mb: 1024,
      processes: 64,
      disk_gb: 2,
      open_files: 99,
      cell_seconds: 5,
      output_bytes: 2048,
    });
    expect(sandbox.info.limits).toEqual({ memory_mb: 1024, gpus: 1 });
    for (const wrong of [{ memoryMb: 0.5 }, { cpu: -1 }, { memory: 1 } as object])
      await expect(server.client().sandboxes.create({ limits: wrong })).rejects.toThrow(InvalidOptionError);
    expect(server.requests).toHaveLength(1);
  });

  test("fault 2.16: waits while the server has no room", async () => {
    server.on(
      CREATE,
      json({ error: "no room" }, 503, { "retry-after": "0" }),
      json({ error: "slow down" }, 429, { "retry-after": "0" }),
      json(INFO, 201),
    );
    expect((await server.client().sandboxes.create()).id).toBe("sb");
    expect(server.seen(CREATE)).toHaveLength(3);
  });

  test("gives up when its time to wait is over, and at once if there is none", async () => {
    server.on(CREATE, json({ error: "no room" }, 503, { "retry-after": "5" }));
    const error = await server
      .client({ maxCreateRetrySeconds: 1 })
      .sandboxes.create()
      .catch((error) => error);
    expect(error).toMatchObject({ name: "CapacityError", statusCode: 503, retryAfter: 5, message: "no room" });
    await expect(server.client({ maxCreateRetrySeconds: 0 }).sandboxes.create()).rejects.toMatchObject({ name: "CapacityError" });
    expect(server.seen(CREATE)).toHaveLength(2);
  });

  test.each([
    [500, "ServerError"],
    [502, "ServerError"],
    [400, "BadRequestError"],
    [409, "ConflictError"],
  ])("does not repeat a refusal with %i", async (status, name) => {
    server.on(CREATE, json({ error: "no" }, status, { "retry-after": "0" }));
    await expect(server.client().sandboxes.create()).rejects.toMatchObject({ name });
    expect(server.seen(CREATE)).toHaveLength(1);
  });

  test("that is aborted while it waits for room does not ask again", async () => {
    server.on(CREATE, json({ error: "no room" }, 503, { "retry-after": "0.1" }));
    const controller = new AbortController();
    const creation = server.client().sandboxes.create({ signal: controller.signal });
    await server.until(() => server.seen(CREATE).length === 1);
    controller.abort();
    await expect(creation).rejects.toMatchObject({ name: "AbortError" });
    const asked = server.seen(CREATE).length;
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(server.seen(CREATE).length).toBeLessThanOrEqual(asked + 1);
  });

  test("fault 4.10: that is aborted deletes the sandbox that was on its way", async () => {
    let answer = () => {};
    server.on(CREATE, (response, request) => {
      answer = () => json(INFO, 201)(response, request);
    });
    server.on(DELETE, gone);
    const controller = new AbortController();
    const creation = server.client().sandboxes.create({ signal: controller.signal });
    await server.until(() => server.seen(CREATE).length === 1);
    controller.abort();
    await expect(creation).rejects.toMatchObject({ name: "AbortError" });
    answer();
    await server.until(() => server.seen(DELETE).length === 1);
  });

  test("that is aborted on the local engine closes its connection, which undoes it", async () => {
    const folder = mkdtempSync(join(tmpdir(), "pandastack-test-"));
    const engine = await ScriptedServer.start(join(folder, "engine.sock"));
    try {
      engine.on(CREATE, silence);
      const controller = new AbortController();
      const client = engine.client();
      const creations = Array.from({ length: 20 }, () =>
        client.sandboxes.create({ signal: controller.signal }).catch((error: unknown) => error),
      );
      await engine.until(() => engine.seen(CREATE).length === 20);
      controller.abort();
      for (const error of await Promise.all(creations)) expect(error).toMatchObject({ name: "AbortError" });
      await engine.until(() => engine.sockets.size === 0);
      expect(engine.seen(DELETE)).toHaveLength(0);
    } finally {
      await engine.stop();
      rmSync(folder, { recursive: true });
    }
  });

  test.each([
    [{ ttlSeconds: -1 }, "ttlSeconds"],
    [{ ttlSeconds: 1.5 }, "ttlSeconds"],
    [{ ttl: 60 }, "did you mean `ttlSeconds`"],
    [{ metadata: { a: 1 } }, "metadata.a"],
    [{ template: "" }, "template"],
    [{ volumes: [{ nam: "x" }] }, "volumes.0"],
    ["code-interpreter", "Sandbox.create"],
  ])("refuses %o", async (options, text) => {
    const error = await server
      .client()
      .sandboxes.create(options as never)
      .catch((error) => error);
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error.message).toContain(text);
    expect(server.requests).toHaveLength(0);
  });
});

describe("list and get", () => {
  test.each([[[INFO]], [{ items: [INFO] }]])("understands the list %o", async (answer) => {
    server.on("GET /v1/sandboxes", json(answer));
    expect((await Sandbox.list(server.client())).map(({ id }) => id)).toEqual(["sb"]);
  });

  test.each([[null], [{}], [{ items: null }], [[]]])("fault 2.19: an empty list may be %o", async (answer) => {
    server.on("GET /v1/sandboxes", json(answer));
    expect(await server.client().sandboxes.list()).toEqual([]);
  });

  test("an id is one part of the path, whatever it contains", async () => {
    server.on("GET /v1/sandboxes/a%2F..%20b%3F", json(INFO));
    await server.client().sandboxes.get("a/.. b?");
    for (const id of ["", ".."]) await expect(Sandbox.get(id, server.client())).rejects.toBeInstanceOf(InvalidOptionError);
    expect(server.requests).toHaveLength(1);
  });

  test("fault 2.14: a missing sandbox is asked for once", async () => {
    await expect(server.client().sandboxes.get("nope")).rejects.toBeInstanceOf(NotFoundError);
    expect(server.requests).toHaveLength(1);
  });

  test("a sandbox that was just created may be unknown for a moment", async () => {
    server
      .on(CREATE, json(INFO, 201))
      .on("GET /v1/sandboxes/sb", json({ error: "not found" }, 404), json({ ...INFO, status: "paused" }));
    const sandbox = await server.client().sandboxes.create();
    expect((await sandbox.refresh()).status).toBe("paused");
  });

  test("an unknown status is no error", async () => {
    server.on("GET /v1/sandboxes/sb", json({ ...INFO, status: "levitating" }));
    expect((await server.client().sandboxes.get("sb")).status).toBe("unknown");
  });
});

describe("kill", () => {
  test("is no error if the sandbox is gone; delete is", async () => {
    await server.sandbox().kill();
    await expect(server.client().sandboxes.delete("sb")).rejects.toBeInstanceOf(NotFoundError);
    expect(server.seen(DELETE)).toHaveLength(2);
  });

  test("fault 2.39: await using ends a sandbox but not a persistent one", async () => {
    server
      .on(CREATE, json(INFO, 201))
      .on(DELETE, gone)
      .on("PATCH /v1/sandboxes/sb/lifecycle", json({ ttl_seconds: 1, persistent: true, idle_seconds: 0 }));
    const client = server.client();
    await (await client.sandboxes.create({ persistent: true }))[Symbol.asyncDispose]();
    const made = await client.sandboxes.create();
    await made.setPersistent(true);
    await made[Symbol.asyncDispose]();
    expect(server.seen(DELETE)).toHaveLength(0);
    await (await client.sandboxes.create())[Symbol.asyncDispose]();
    expect(server.seen(DELETE)).toHaveLength(1);
  });
});

test("lifecycle", async () => {
  const lifecycle = { ttl_seconds: 5, persistent: false, idle_seconds: 1 };
  server.on("GET /v1/sandboxes/sb/lifecycle", json(lifecycle)).on("PATCH /v1/sandboxes/sb/lifecycle", json(lifecycle));
  expect(await server.sandbox().lifecycle()).toEqual(lifecycle);
  await server.sandbox().setTtl(5);
  expect(JSON.parse(server.requests[1]?.body.toString() ?? "")).toEqual({ ttl_seconds: 5 });
  for (const ttl of [-1, 1.5, Number.NaN, "5"]) {
    await expect(server.sandbox().setTtl(ttl as never)).rejects.toBeInstanceOf(InvalidOptionError);
  }
});

test("templates, tokens and identity", async () => {
  server
    .on("GET /v1/templates", json([{ name: "t", rootfs_path: "", size_bytes: 2 ** 33, label: "L" }]))
    .on("GET /v1/templates/a%2Fb", json({ name: "a/b" }))
    .on("GET /v1/me/tokens", json({ items: [{ prefix: "pds_12345678", created_at: "now" }] }))
    .on("POST /v1/me/tokens", json({ token: "pds_secret", prefix: "pds_secr", created_at: "now" }))
    .on("DELETE /v1/me/tokens/pds_12345678", gone)
    .on("GET /v1/me", json({ user_id: "u", email: "", orgs: [] }));
  const client = server.client();
  expect(await client.templates.list()).toEqual([{ name: "t", rootfs_path: "", size_bytes: 2 ** 33, label: "L" }]);
  expect((await client.templates.get("a/b")).name).toBe("a/b");
  expect(await client.tokens.list()).toEqual([{ prefix: "pds_12345678", created_at: "now" }]);
  expect((await client.tokens.create()).token).toBe("pds_secret");
  expect(server.requests.at(-1)?.body.toString()).toBe("{}");
  await client.tokens.revoke("pds_12345678");
  expect(await client.me()).toEqual({ user_id: "u", email: "", orgs: [] });
});

test("any call", async () => {
  server.on("POST /v1/x/y", json({ ok: true })).on("GET /v1/x", gone);
  const client = server.client();
  const answer = await client.request("POST", "/x/y", {
    query: { a: "b c", n: 1, u: undefined },
    json: { k: 1 },
    headers: { "x-h": "v" },
  });
  expect(answer).toEqual({ ok: true });
  const [request] = server.requests;
  expect([request?.query.get("a"), request?.query.get("n"), request?.query.has("u")]).toEqual(["b c", "1", false]);
  expect(request?.body.toString()).toBe('{"k":1}');
  expect(request?.headers).toMatchObject({ "x-h": "v", "content-type": "application/json" });
  expect(await client.request("GET", "x?q=a%20b")).toBeUndefined();
  expect(server.requests.at(-1)?.query.get("q")).toBe("a b");
  server.on("GET /v1/a%20b%2Fc", json("text"));
  expect(await client.request("GET", "/a%20b%2Fc", { parseAs: "text" })).toBe('"text"');
  await expect(client.request("GET", "a/%2e%2e/b")).rejects.toMatchObject({ name: "InvalidOptionError" });
  expect(client).toBeInstanceOf(Client);
});

describe("egress and events", () => {
  test("rules are asked for and changed", async () => {
    const sandbox = Sandbox.fromInfo(INFO as never, server.client());
    const answer = { egress: "none", secrets: { KEY: ["api.example.com"] } };
    server.on("GET /v1/sandboxes/sb/egress", json(answer)).on("PUT /v1/sandboxes/sb/egress", json(answer));
    expect(await sandbox.egress()).toEqual(answer);
    expect(await sandbox.setEgress("none")).toEqual(answer);
    expect(JSON.parse(server.requests[1]?.body.toString() ?? "")).toEqual({ egress: "none" });
    await expect(sandbox.setEgress("nothing" as never)).rejects.toThrow(/^setEgress: must be `all`, `none`/);
  });

  test("events come as a list, whatever holds it", async () => {
    const sandbox = Sandbox.fromInfo(INFO as never, server.client());
    const event = { time: "2026-01-01T00:00:00Z", sandbox_id: "sb", type: "sandbox.running", new: 1 };
    server.on("GET /v1/sandboxes/sb/events", json({ events: [event] }), json({ events: null }), json([event]));
    expect(await sandbox.events({ tail: 0 })).toEqual([event]);
    expect(server.requests[0]?.query.get("tail")).toBe("0");
    expect(await sandbox.events()).toEqual([]);
    expect(await sandbox.events()).toEqual([event]);
  });
});
