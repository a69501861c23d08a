// Every asynchronous method takes a signal. One that is aborted already sends nothing, and its reason is not lost.
import { CodeContext } from "@pandastack/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ScriptedServer } from "../support/scripted-server.js";

let server: ScriptedServer;
beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.stop());

const REASON = new Error("no longer needed");
const call = { signal: AbortSignal.abort(REASON) };
const app = { name: "a", git_url: "https://a.example/b.git" };
const bytes = new Uint8Array([1]);

/** Arguments of each method, the signal among them. */
const methods: Record<string, Record<string, unknown[]>> = {
  client: { me: [call], request: ["GET", "/x", call] },
  sandboxes: { create: [call], list: [call], get: ["a", call], delete: ["a", call] },
  sandbox: {
    refresh: [call],
    exec: ["x", call],
    execStream: ["x", call],
    runCode: ["x", "shell", call],
    createCodeContext: [call],
    listCodeContexts: [call],
    kill: [call],
    pause: [call],
    resume: [call],
    hibernate: [call],
    wake: [call],
    snapshot: [call],
    fork: [call],
    forkTree: [{ count: 1, ...call }],
    promote: [call],
    logs: [call],
    previewUrls: [call],
    lifecycle: [call],
    setTtl: [1, call],
    setPersistent: [true, call],
    egress: [call],
    setEgress: ["all", call],
    events: [call],
  },
  context: { runCode: ["x", call], interrupt: [call], restart: [call], close: [call] },
  commands: { run: ["x", call], start: ["x", call] },
  filesystem: {
    read: ["/a", call],
    readBytes: ["/a", call],
    readStream: ["/a", call],
    write: ["/a", "b", call],
    upload: [import.meta.filename, "/a", call],
    download: ["/a", "/tmp/never-written", call],
    list: ["/", call],
    stat: ["/a", call],
    exists: ["/a", call],
    remove: ["/a", call],
    mkdir: ["/a", call],
    rename: ["/a", "/b", call],
    copy: ["/a", "/b", call],
    chmod: ["/a", 0o644, call],
    uploadDirectory: [import.meta.dirname, "/a", call],
    downloadDirectory: ["/a", "/tmp/never-written", call],
    walk: ["/", call],
  },
  templates: {
    list: [call],
    get: ["t", call],
    build: [{ name: "t", rootfs: bytes }, call],
    register: [{ name: "t", imageRef: "i" }, call],
    buildFromDockerfile: [{ name: "t", dockerfile: "FROM a\nRUN b" }, call],
    delete: ["t", call],
    builds: [call],
    buildStatus: ["b", call],
    buildLogs: ["b", call],
    waitForBuild: ["b", call],
  },
  tokens: { list: [call], create: ["label", call], revoke: ["pds_1", call] },
  functions: {
    create: ["f", "python", "1", {}, call],
    deploy: [{ name: "f", runtime: "python", code: "1" }, call],
    list: [call],
    get: ["f", call],
    update: ["f", {}, call],
    delete: ["f", call],
    getCode: ["f", call],
    invoke: ["f", undefined, call],
    trigger: ["f", undefined, call],
    recordRun: ["f", {}, call],
    runs: ["f", call],
    listRuns: ["f", call],
    deployBundle: ["f", bytes, undefined, call],
    metrics: ["f", 24, call],
  },
  schedules: {
    create: ["s", "f", "* * * * *", {}, call],
    list: [call],
    get: ["s", call],
    update: ["s", {}, call],
    delete: ["s", call],
    trigger: ["s", call],
    runs: ["s", call],
    listRuns: ["s", call],
  },
  databases: {
    create: [{}, call],
    waitUntilReady: ["d", 1000, call],
    list: [call],
    get: ["d", call],
    delete: ["d", call],
    connection: ["d", call],
    failover: ["d", call],
    wake: ["d", call],
    update: ["d", {}, call],
    clone: ["d", {}, call],
    resetCredentials: ["d", call],
  },
  volumes: { create: [{ name: "v", size_mb: 1 }, call], list: [call], get: ["v", call], delete: ["v", call] },
  snapshots: { list: [call], get: ["s", call], delete: ["s", call] },
  apps: {
    create: [app, call],
    list: [call],
    get: ["a", call],
    update: ["a", {}, call],
    delete: ["a", call],
    deploy: ["a", {}, call],
    deployments: ["a", call],
    deployment: ["a", "d", call],
    rollback: ["a", call],
    deployLogs: ["a", "d", call],
    previews: [call],
    previewRepos: [call],
    enablePreviewRepo: [1, {}, call],
    disablePreviewRepo: [1, call],
    listEnv: ["a", call],
    setEnv: ["a", "K", "v", {}, call],
    unsetEnv: ["a", "K", call],
    importEnv: ["a", "K=v", {}, call],
    addDomain: ["a", "a.example", call],
    listDomains: ["a", call],
    getDomain: ["a", "a.example", call],
    removeDomain: ["a", "a.example", call],
    listPreviewEnv: [1, call],
    setPreviewEnv: [1, "K", "v", {}, call],
    unsetPreviewEnv: [1, "K", call],
    importPreviewEnv: [1, "K=v", {}, call],
  },
};

function objects(): Record<string, unknown> {
  const sandbox = server.sandbox();
  const client = server.client();
  const { filesystem, commands } = sandbox;
  return { ...client, client, sandbox, filesystem, commands, context: new CodeContext(client, "sb", "ctx") };
}

const rows = Object.entries(methods).flatMap(([owner, table]) => Object.keys(table).map((name) => [owner, name] as const));

test.each(rows)("fault 4.10: %s.%s with an aborted signal sends nothing", async (owner, name) => {
  const object = objects()[owner] as Record<string, (...args: unknown[]) => unknown>;
  const started = object[name]?.(...(methods[owner]?.[name] ?? []));
  const isLoop = typeof started === "object" && started !== null && Symbol.asyncIterator in started;
  const answer: unknown = isLoop ? (started as AsyncGenerator).next() : started;
  const error = await Promise.resolve(answer).catch((error) => error);
  expect(error).toMatchObject({ name: "AbortError", code: "aborted" });
  expect((error as Error).cause).toBe(REASON);
  expect(server.requests).toHaveLength(0);
});

test("every asynchronous method is among them", () => {
  const now = ["close", "previewUrl", "send"];
  const { native: _, ...found } = objects();
  const missing = Object.entries(found)
    .filter(([, value]) => typeof value === "object" && value !== null && Object.getPrototypeOf(value) !== Object.prototype)
    .flatMap(([owner, value]) =>
      Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(value)))
        .filter(([name, { value }]) => typeof value === "function" && name !== "constructor")
        .filter(([name]) => !(methods[owner]?.[name] || (owner === "client" ? now : ["previewUrl", "explore"]).includes(name)))
        .map(([name]) => `${owner}.${name}`),
    );
  expect(missing).toEqual([]);
});
