import type { Row } from "./compare.js";
import { type Answer, ID } from "./recording-server.js";
import type { RULES } from "./rules.js";

const SANDBOX = `/v1/sandboxes/${ID}`;
const VOLUMES = "GET /v1/volumes";
const STREAM = `POST ${SANDBOX}/exec/stream`;
const EXEC = `POST ${SANDBOX}/exec`;
const RUN = `POST ${SANDBOX}/repl/sessions/59e225ba2a0e28e8/run`;
const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Answer => ({
  status,
  type: "application/json",
  body: JSON.stringify(body),
  headers,
});
const sse = (body: string): Answer => ({ status: 200, type: "text/event-stream; charset=utf-8", body });
const template = { name: "a", rootfs_path: "/a", size_bytes: 1 };
const info = { id: ID, template: "t", cpu: 1, memory_mb: 1, status: "running" };
const volumes: Row["call"] = ({ client }) => client.volumes.list();

/** Rows of a call that is answered in several ways. */
function answered(call: Row["call"], route: string, answers: Answer[], rest: Partial<Row> = {}): Row[] {
  return answers.map((answer, index) => ({ name: `${route} #${index}`, call, answers: { [route]: answer }, ...rest }));
}

/** A list call, answered with an array and with an object that holds it under `key`. */
function lists(call: Row["call"], route: string, key = "items", item: object = { id: "a" }): Row[] {
  return answered(call, route, [json([item]), json({ [key]: [item] }), json([])]);
}

/** What a stream's callbacks saw, and the exit code. */
const streamed: Row["call"] = async ({ sandbox }) => {
  const seen: string[] = [];
  const onStdout = (text: string) => void seen.push(text);
  const exitCode = await sandbox.execStream("x", { onStdout, onStderr: onStdout });
  return [exitCode, seen.join("")];
};

const events = (body: string, rest: Partial<Row> = {}): Row => ({
  name: "a stream",
  call: streamed,
  answers: { [STREAM]: sse(body) },
  ...rest,
});
const exit = 'event: exit\ndata: {"exit_code":3}\n\n';
const refused = "dial tcp 10.0.0.2:22: connect: connection refused";

/** Rows of each rule. */
export const wireRows: Record<(typeof RULES)[number], Row[]> = {
  "address: slashes at its end": [{ name: "two", call: volumes, prefix: "//" }],
  "address: ends in /v1": [{ name: "it does", call: volumes, prefix: "/v1" }],
  "address: a prefix of the path": [
    { name: "a call", call: volumes, prefix: "/base/x", answers: { "GET /base/x/v1/volumes": json([]) } },
    { name: "and /v1", call: volumes, prefix: "/base/v1/", answers: { "GET /base/v1/volumes": json([]) } },
  ],
  "address: a prefix of the path, streams": [
    {
      name: "execStream",
      call: streamed,
      prefix: "/base",
      answers: { [STREAM]: sse(exit), [STREAM.replace("/v1", "/base/v1")]: sse(exit) },
      deviation: { id: "prefix-of-streams", parts: ["requests"] },
    },
  ],
  "address: parts of a path are encoded": [
    {
      name: "an id of anything",
      call: ({ client }) => client.volumes.get("a/b ?#%é"),
      answers: { "GET /v1/volumes/a%2Fb%20%3F%23%25%C3%A9": json({ name: "x" }) },
    },
  ],
  "address: query as a form": [{ name: "a path", call: ({ sandbox }) => sandbox.filesystem.stat("/a b/+&é") }],
  "address: undefined is left out of a query": [
    { name: "request", call: ({ client }) => client.request("GET", "/volumes", { query: { a: 1, b: undefined, c: "" } }) },
  ],
  "headers: the key": [
    { name: "its own", call: volumes, config: { apiKey: "pds_other" } },
    { name: "none", call: volumes, config: { apiKey: "" } },
  ],
  "headers: the caller's own": [
    {
      name: "authorization and accept",
      call: ({ client }) => client.request("GET", "/volumes", { headers: { authorization: "Bearer mine", accept: "x/y" } }),
    },
  ],
  "headers: accept of each kind of call": [
    { name: "JSON", call: volumes },
    { name: "events", call: streamed },
    { name: "text", call: ({ sandbox }) => sandbox.logs() },
    { name: "bytes", call: ({ client }) => client.functions.getCode(ID) },
  ],
  "headers: a call without a body": ["pause", "resume", "hibernate", "wake", "snapshot"].map((name) => ({
    name,
    call: ({ sandbox }) => (sandbox as unknown as Record<string, () => unknown>)[name]?.(),
  })),
  "answer: 204 and nothing": answered(({ client }) => client.request("GET", "/volumes"), VOLUMES, [
    { status: 204 },
    { status: 200, body: "" },
  ]),
  "answer: JSON under any type": answered(volumes, VOLUMES, [
    { status: 200, type: "text/html", body: "[]" },
    { status: 200, body: '[{"name":"a"}]' },
  ]),
  "answer: no JSON": answered(
    volumes,
    VOLUMES,
    [
      { status: 200, body: "<html>" },
      { status: 200, body: '[{"name":' },
    ],
    { fails: true, deviation: { id: "what-is-not-json", parts: ["error"] } },
  ),
  "answer: a redirect is followed": [301, 302, 307, 308].map((status) => ({
    name: `HTTP ${status}`,
    call: volumes,
    answers: { [VOLUMES]: { status, headers: { location: "/v1/other" } }, "GET /v1/other": json([{ name: "v" }]) },
  })),
  "list: sandboxes": lists(({ client }) => client.sandboxes.list(), "GET /v1/sandboxes", "items", info),
  "list: templates and builds": [
    ...answered(({ client }) => client.templates.list(), "GET /v1/templates", [json([template]), json([])]),
    ...answered(({ client }) => client.templates.builds(), "GET /v1/templates/builds", [json([{ id: "a" }]), json([])]),
    ...answered(({ client }) => client.templates.list(), "GET /v1/templates", [json({ items: [template] })], {
      deviation: { id: "empty-lists", parts: ["result"] },
    }),
  ],
  "list: tokens": lists(({ client }) => client.tokens.list(), "GET /v1/me/tokens", "items", {
    prefix: "pds_1",
    created_at: "now",
  }),
  "list: functions, runs, schedules, databases, volumes, apps, deployments": [
    ...lists(({ client }) => client.functions.list(), "GET /v1/functions"),
    ...lists(({ client }) => client.functions.runs(ID), `GET /v1/functions/${ID}/runs`),
    ...lists(({ client }) => client.schedules.list(), "GET /v1/schedules"),
    ...lists(({ client }) => client.schedules.runs(ID), `GET /v1/schedules/${ID}/runs`),
    ...lists(({ client }) => client.databases.list(), "GET /v1/databases"),
    ...lists(volumes, VOLUMES),
    ...lists(({ client }) => client.apps.list(), "GET /v1/apps"),
    ...lists(({ client }) => client.apps.deployments(ID), `GET /v1/apps/${ID}/deploys`),
  ],
  "list: snapshots": lists(({ client }) => client.snapshots.list(), "GET /v1/snapshots", "snapshots"),
  "list: environments, domains and repositories": [
    ...answered(({ client }) => client.apps.listEnv(ID), `GET /v1/apps/${ID}/env`, [json({ env: [{ key: "A" }] })]),
    ...answered(({ client }) => client.apps.listDomains(ID), `GET /v1/apps/${ID}/domains`, [
      json({ domains: [{ domain: "a" }] }),
    ]),
    ...answered(({ client }) => client.apps.previewRepos(), "GET /v1/preview-repos", [json({ repos: [{ github_repo_id: 1 }] })]),
    ...answered(({ client }) => client.apps.listPreviewEnv(1), "GET /v1/repos/1/preview-env", [json({ env: [{ key: "A" }] })]),
  ],
  "list: ports": answered(({ sandbox }) => sandbox.previewUrls(), `GET ${SANDBOX}/ports`, [
    json([80, { port: 90 }]),
    json({ ports: [80, { port: 90 }] }),
    json([]),
  ]),
  "list: directories": answered(({ sandbox }) => sandbox.filesystem.list("/d"), `GET ${SANDBOX}/fs/dir`, [
    json({ path: "/d", entries: [{ name: "a", is_dir: false, size: 1, mode: "f", mtime: 1 }] }),
    json({ path: "/d", entries: null }),
    json({ path: "/d", entries: [] }),
  ]),
  "list: copies": [
    ...answered(
      async ({ sandbox }) => (await sandbox.forkTree({ count: 2 })).map(({ id }) => id),
      `POST ${SANDBOX}/fork-tree`,
      [["a", { id: "b" }], { children: ["a"] }, { items: [{ id: "a" }] }, { sandboxes: ["a"] }].map((body) => json(body, 201)),
    ),
    ...answered(
      async ({ sandbox }) => (await sandbox.fork()).id,
      `POST ${SANDBOX}/fork`,
      [{ sandbox: info }, { children: [{ id: "a" }] }, { id: "a" }].map((body) => json(body, 201)),
    ),
  ],
  "error: where the message is": answered(
    volumes,
    VOLUMES,
    [
      json({ error: "a", message: "b", detail: "c" }, 400),
      json({ error: "", message: "b", detail: "c" }, 400),
      json({ error: 5, detail: "c" }, 400),
      { status: 400, type: "text/plain", body: "words" },
      { status: 400 },
    ],
    { fails: true },
  ),
  "error: class of each status": [
    ...answered(
      volumes,
      VOLUMES,
      [400, 402, 403, 408, 409, 411, 413, 422, 500, 501, 505, 507].map((status) => json({ error: "no" }, status)),
      { fails: true },
    ),
    ...answered(volumes, VOLUMES, [json({ error: "no" }, 401)], {
      fails: true,
      deviation: { id: "refused-key", parts: ["error"] },
    }),
    ...answered(
      volumes,
      VOLUMES,
      [429, 502, 503, 504].map((status) => json({ error: "no" }, status, { "retry-after": "0" })),
      {
        fails: true,
        deviation: { id: "reads-are-repeated", parts: ["requests"] },
      },
    ),
  ],
  "error: a redirect to nowhere": answered(volumes, VOLUMES, [{ status: 304 }], { fails: true }),
  "error: no server": [
    {
      name: "a port without a server",
      call: volumes,
      config: { apiUrl: "http://127.0.0.1:9" },
      fails: true,
      deviation: { id: "network-errors", parts: ["error"] },
    },
  ],
  "error: time limit of a command": answered(
    ({ sandbox }) => sandbox.exec("x"),
    EXEC,
    [json({ error: "command timeout after 1s" }, 504), json({ error: "context deadline exceeded" }, 500)],
    { fails: true, deviation: { id: "no-command-text", parts: ["error"] } },
  ),
  "error: time limit of a cell": answered(
    ({ context }) => context.runCode("x"),
    RUN,
    [json({ error: "cell timeout after 30s" }, 500)],
    {
      fails: true,
      deviation: { id: "no-command-text", parts: ["accept", "error"] },
    },
  ),
  "error: time limit in a stream": [
    events('event: error\ndata: {"error":"command timeout after 1s"}\n\n', { fails: true }),
    events('event: error\ndata: {"error":"lost"}\n\n', { fails: true }),
  ],
  "limit: the client's": [
    {
      name: "too short",
      call: volumes,
      config: { timeoutMs: 100 },
      answers: { [VOLUMES]: { status: 200, body: "[]", delayMs: 600 } },
      fails: true,
      deviation: { id: "network-errors", parts: ["error"] },
    },
  ],
  "limit: snapshots, failovers and passwords may take longer": [
    {
      name: "snapshot",
      call: ({ sandbox }) => sandbox.snapshot(),
      config: { timeoutMs: 50 },
      answers: { [`POST ${SANDBOX}/snapshots`]: { ...json({ id: "s" }, 201), delayMs: 200 } },
    },
    {
      name: "failover",
      call: ({ client }) => client.databases.failover(ID),
      config: { timeoutMs: 50 },
      answers: { [`POST /v1/databases/${ID}/failover`]: { ...json({ id: ID }), delayMs: 200 } },
    },
    {
      name: "resetCredentials",
      call: ({ client }) => client.databases.resetCredentials(ID),
      config: { timeoutMs: 50 },
      answers: {
        [`POST /v1/databases/${ID}/reset-credentials`]: { ...json({ id: ID, connection_url: "postgresql://x" }), delayMs: 200 },
      },
    },
  ],
  "limit: of a command beyond the client's": [
    {
      name: "exec",
      call: ({ sandbox }) => sandbox.exec("x", { timeoutSeconds: 5 }),
      config: { timeoutMs: 50 },
      answers: { [EXEC]: { ...json({ stdout: "late", stderr: "", exit_code: 0 }), delayMs: 200 } },
      fails: true,
      deviation: { id: "limit-of-a-command", parts: ["error", "result"] },
    },
  ],
  "again: after 404": [
    {
      name: "a read",
      call: ({ client }) => client.volumes.get("v"),
      answers: { "GET /v1/volumes/v": json({ error: "no" }, 404) },
      fails: true,
      deviation: { id: "one-request-for-404", parts: ["requests"] },
    },
    {
      name: "a delete",
      call: ({ client }) => client.volumes.delete("v"),
      answers: { "DELETE /v1/volumes/v": json({ error: "no" }, 404) },
      fails: true,
      deviation: { id: "one-request-for-404", parts: ["requests"] },
    },
  ],
  "again: not after 404 of a change": [
    {
      name: "a command",
      call: ({ sandbox }) => sandbox.exec("x"),
      answers: { [EXEC]: json({ error: "sandbox not found" }, 404) },
      fails: true,
    },
    {
      name: "a lifecycle",
      call: ({ sandbox }) => sandbox.setTtl(5),
      answers: { [`PATCH ${SANDBOX}/lifecycle`]: json({ error: "sandbox not found" }, 404) },
      fails: true,
    },
  ],
  "again: a sandbox that warms up": [
    {
      name: "exec",
      call: ({ sandbox }) => sandbox.exec("x"),
      answers: { [EXEC]: [json({ error: refused }, 500), json({ stdout: "a", stderr: "", exit_code: 0 })] },
    },
    {
      name: "read",
      call: ({ sandbox }) => sandbox.filesystem.read("/a"),
      answers: { [`GET ${SANDBOX}/fs`]: [json({ error: refused }, 500), { status: 200, body: "a" }] },
      deviation: { id: "bytes-accepted", parts: ["accept"] },
    },
    {
      name: "write",
      call: ({ sandbox }) => sandbox.filesystem.write("/a", "b"),
      answers: { [`PUT ${SANDBOX}/fs`]: [json({ error: refused }, 500), json({ path: "/a", bytes: 1 })] },
    },
    {
      name: "list",
      call: ({ sandbox }) => sandbox.filesystem.list("/a"),
      answers: { [`GET ${SANDBOX}/fs/dir`]: [json({ error: "no route to host" }, 500), json({ entries: [] })] },
    },
    {
      name: "createCodeContext",
      call: async ({ sandbox }) => (await sandbox.createCodeContext()).id,
      answers: { [`POST ${SANDBOX}/repl/sessions`]: [json({ error: refused }, 500), json({ id: "c" }, 201)] },
    },
    {
      name: "a command that may run already",
      call: ({ sandbox }) => sandbox.exec("x"),
      answers: { [EXEC]: [json({ error: "read tcp: i/o timeout" }, 500), json({ stdout: "twice", stderr: "", exit_code: 0 })] },
      deviation: { id: "never-twice", parts: ["requests", "result", "error"] },
    },
  ],
  "again: never a cell": [
    {
      name: "runCode",
      call: ({ context }) => context.runCode("x"),
      answers: { [RUN]: json({ error: refused }, 500) },
      fails: true,
      deviation: { id: "cells-as-streams", parts: ["accept"] },
    },
  ],
  "again: no room": [
    {
      name: "create",
      call: ({ client }) => client.sandboxes.create({ template: "base" }),
      answers: { "POST /v1/sandboxes": [json({ error: "no room" }, 503, { "retry-after": "0" }), json(info, 201)] },
      fails: true,
      deviation: { id: "waits-for-room", parts: ["requests", "result", "error"] },
    },
  ],
  "events: line feeds and comments": [
    events(`: ka\n\nevent: stdout\ndata: {"chunk":"é"}\n\n: ka\n\nevent: stderr\ndata: {"chunk":"b"}\n\n${exit}`),
  ],
  "events: other line ends": ["\r\n", "\r"].map((end) =>
    events(`event: stdout\ndata: {"chunk":"a"}\n\n${exit}`.replaceAll("\n", end), {
      deviation: { id: "every-line-end", parts: ["result"] },
    }),
  ),
  "events: an end without a blank line": [events(exit.trimEnd(), { deviation: { id: "last-event-counts", parts: ["result"] } })],
  "events: spaces after the colon": [
    events(`event:stdout\ndata:{"chunk":"a"}\n\nevent: stdout\ndata: {"chunk":" b"}\n\n${exit}`),
  ],
  "events: several lines of data": [
    {
      name: "a log",
      call: ({ sandbox }) => sandbox.logs({ follow: true }),
      answers: { [`GET ${SANDBOX}/logs`]: sse("data: a\ndata: b\n\n") },
    },
  ],
  "events: data that is no object": [events(`event: stdout\ndata: words\n\n${exit}`)],
  "events: unknown names": [events(`event: ping\ndata: {}\n\n${exit}`)],
};
