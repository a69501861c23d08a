// `signal` and `timeoutMs` of every asynchronous method. A method without a row fails.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AbortError, type CallOptions, type Client, CodeContext, Sandbox, TimeoutError } from "@pandastack/sdk";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { ScriptedServer, silence } from "../support/scripted-server.js";

interface Subject {
  client: Client;
  sandbox: Sandbox;
  context: CodeContext;
}
type Call = (subject: Subject, options: CallOptions) => unknown;

const folder = mkdtempSync(join(tmpdir(), "pandastack-test-"));
const file = join(folder, "file");
writeFileSync(file, "x");
afterAll(() => rmSync(folder, { recursive: true }));

const build = { name: "t", rootfs: new Uint8Array(1) };
const image = { name: "t", imageRef: "i" };
const dockerfile = { name: "t", dockerfile: "FROM scratch\n" };

const ROWS: Record<string, Record<string, Call>> = {
  client: {
    me: ({ client }, options) => client.me(options),
    request: ({ client }, options) => client.request("GET", "/x", options),
  },
  sandboxes: {
    create: ({ client }, options) => client.sandboxes.create(options),
    list: ({ client }, options) => client.sandboxes.list(options),
    get: ({ client }, options) => client.sandboxes.get("x", options),
    delete: ({ client }, options) => client.sandboxes.delete("x", options),
  },
  Sandbox: {
    create: ({ client }, options) => Sandbox.create(options, client),
    list: ({ client }, options) => Sandbox.list(client, options),
    get: ({ client }, options) => Sandbox.get("x", client, options),
  },
  sandbox: {
    refresh: ({ sandbox }, options) => sandbox.refresh(options),
    exec: ({ sandbox }, options) => sandbox.exec("x", options),
    execStream: ({ sandbox }, options) => sandbox.execStream("x", options),
    runCode: ({ sandbox }, options) => sandbox.runCode("x", "python", options),
    createCodeContext: ({ sandbox }, options) => sandbox.createCodeContext(options),
    listCodeContexts: ({ sandbox }, options) => sandbox.listCodeContexts(options),
    kill: ({ sandbox }, options) => sandbox.kill(options),
    pause: ({ sandbox }, options) => sandbox.pause(options),
    resume: ({ sandbox }, options) => sandbox.resume(options),
    hibernate: ({ sandbox }, options) => sandbox.hibernate(options),
    wake: ({ sandbox }, options) => sandbox.wake(options),
    snapshot: ({ sandbox }, options) => sandbox.snapshot(options),
    fork: ({ sandbox }, options) => sandbox.fork(options),
    forkTree: ({ sandbox }, options) => sandbox.forkTree({ count: 2, ...options }),
    promote: ({ sandbox }, options) => sandbox.promote(options),
    explore: ({ sandbox }, options) => sandbox.explore(["x"], options),
    logs: ({ sandbox }, options) => sandbox.logs(options).next(),
    previewUrls: ({ sandbox }, options) => sandbox.previewUrls(options),
    lifecycle: ({ sandbox }, options) => sandbox.lifecycle(options),
    setTtl: ({ sandbox }, options) => sandbox.setTtl(1, options),
    setPersistent: ({ sandbox }, options) => sandbox.setPersistent(true, options),
    egress: ({ sandbox }, options) => sandbox.egress(options),
    setEgress: ({ sandbox }, options) => sandbox.setEgress("all", options),
    events: ({ sandbox }, options) => sandbox.events(options),
  },
  context: {
    runCode: ({ context }, options) => context.runCode("x", options),
    interrupt: ({ context }, options) => context.interrupt(options),
    restart: ({ context }, options) => context.restart(options),
    close: ({ context }, options) => context.close(options),
  },
  commands: {
    run: ({ sandbox }, options) => sandbox.commands.run("x", options),
    start: ({ sandbox }, options) => sandbox.commands.start("x", options),
  },
  filesystem: {
    read: ({ sandbox }, options) => sandbox.filesystem.read("/x", options),
    readBytes: ({ sandbox }, options) => sandbox.filesystem.readBytes("/x", options),
    readStream: ({ sandbox }, options) => sandbox.filesystem.readStream("/x", options).next(),
    write: ({ sandbox }, options) => sandbox.filesystem.write("/x", "x", options),
    upload: ({ sandbox }, options) => sandbox.filesystem.upload(file, "/x", options),
    download: ({ sandbox }, options) => sandbox.filesystem.download("/x", join(folder, "down"), options),
    list: ({ sandbox }, options) => sandbox.filesystem.list("/", options),
    stat: ({ sandbox }, options) => sandbox.filesystem.stat("/x", options),
    exists: ({ sandbox }, options) => sandbox.filesystem.exists("/x", options),
    remove: ({ sandbox }, options) => sandbox.filesystem.remove("/x", options),
    mkdir: ({ sandbox }, options) => sandbox.filesystem.mkdir("/x", options),
    rename: ({ sandbox }, options) => sandbox.filesystem.rename("/x", "/y", options),
    copy: ({ sandbox }, options) => sandbox.filesystem.copy("/x", "/y", options),
    chmod: ({ sandbox }, options) => sandbox.filesystem.chmod("/x", 0o644, options),
    uploadDirectory: ({ sandbox }, options) => sandbox.filesystem.uploadDirectory(folder, "/x", options),
    downloadDirectory: ({ sandbox }, options) => sandbox.filesystem.downloadDirectory("/x", join(folder, "dir"), options),
    walk: ({ sandbox }, options) => sandbox.filesystem.walk("/", options).next(),
  },
  templates: {
    list: ({ client }, options) => client.templates.list(options),
    get: ({ client }, options) => client.templates.get("x", options),
    build: ({ client }, options) => client.templates.build(build, options),
    register: ({ client }, options) => client.templates.register(image, options),
    buildFromDockerfile: ({ client }, options) => client.templates.buildFromDockerfile(dockerfile, options),
    delete: ({ client }, options) => client.templates.delete("x", options),
    builds: ({ client }, options) => client.templates.builds(options),
    buildStatus: ({ client }, options) => client.templates.buildStatus("x", options),
    buildLogs: ({ client }, options) => client.templates.buildLogs("x", options).next(),
    waitForBuild: ({ client }, options) => client.templates.waitForBuild("x", options),
  },
  tokens: {
    list: ({ client }, options) => client.tokens.list(options),
    create: ({ client }, options) => client.tokens.create("x", options),
    revoke: ({ client }, options) => client.tokens.revoke("x", options),
  },
  volumes: {
    create: ({ client }, options) => client.volumes.create({ name: "x", size_mb: 1 }, options),
    list: ({ client }, options) => client.volumes.list(options),
    get: ({ client }, options) => client.volumes.get("x", options),
    delete: ({ client }, options) => client.volumes.delete("x", options),
  },
  snapshots: {
    list: ({ client }, options) => client.snapshots.list(options),
    get: ({ client }, options) => client.snapshots.get("x", options),
    delete: ({ client }, options) => client.snapshots.delete("x", options),
  },
  functions: {
    create: ({ client }, options) => client.functions.create("x", "python", "x", {}, options),
    deploy: ({ client }, options) => client.functions.deploy({ name: "x", runtime: "python", code: "x" }, options),
    list: ({ client }, options) => client.functions.list(options),
    get: ({ client }, options) => client.functions.get("x", options),
    update: ({ client }, options) => client.functions.update("x", {}, options),
    delete: ({ client }, options) => client.functions.delete("x", options),
    getCode: ({ client }, options) => client.functions.getCode("x", options),
    invoke: ({ client }, options) => client.functions.invoke("x", {}, options),
    trigger: ({ client }, options) => client.functions.trigger("x", {}, options),
    recordRun: ({ client }, options) => client.functions.recordRun("x", {}, options),
    runs: ({ client }, options) => client.functions.runs("x", options),
    listRuns: ({ client }, options) => client.functions.listRuns("x", options),
    deployBundle: ({ client }, options) => client.functions.deployBundle("x", new Uint8Array(1), undefined, options),
    metrics: ({ client }, options) => client.functions.metrics("x", 24, options),
  },
  schedules: {
    create: ({ client }, options) => client.schedules.create("x", "f", "* * * * *", {}, options),
    list: ({ client }, options) => client.schedules.list(options),
    get: ({ client }, options) => client.schedules.get("x", options),
    update: ({ client }, options) => client.schedules.update("x", {}, options),
    delete: ({ client }, options) => client.schedules.delete("x", options),
    trigger: ({ client }, options) => client.schedules.trigger("x", options),
    runs: ({ client }, options) => client.schedules.runs("x", options),
    listRuns: ({ client }, options) => client.schedules.listRuns("x", options),
  },
  databases: {
    create: ({ client }, options) => client.databases.create({}, options),
    waitUntilReady: ({ client }, { timeoutMs, ...options }) => client.databases.waitUntilReady("x", timeoutMs, options),
    list: ({ client }, options) => client.databases.list(options),
    get: ({ client }, options) => client.databases.get("x", options),
    delete: ({ client }, options) => client.databases.delete("x", options),
    connection: ({ client }, options) => client.databases.connection("x", options),
    failover: ({ client }, options) => client.databases.failover("x", options),
    wake: ({ client }, options) => client.databases.wake("x", options),
    update: ({ client }, options) => client.databases.update("x", {}, options),
    clone: ({ client }, options) => client.databases.clone("x", {}, options),
    resetCredentials: ({ client }, options) => client.databases.resetCredentials("x", options),
  },
  apps: {
    create: ({ client }, options) => client.apps.create({ name: "x", git_url: "x" }, options),
    list: ({ client }, options) => client.apps.list(options),
    get: ({ client }, options) => client.apps.get("x", options),
    update: ({ client }, options) => client.apps.update("x", {}, options),
    delete: ({ client }, options) => client.apps.delete("x", options),
    deploy: ({ client }, options) => client.apps.deploy("x", {}, options),
    deployments: ({ client }, options) => client.apps.deployments("x", options),
    deployment: ({ client }, options) => client.apps.deployment("x", "d", options),
    rollback: ({ client }, options) => client.apps.rollback("x", options),
    deployLogs: ({ client }, options) => client.apps.deployLogs("x", "d", options).next(),
    previews: ({ client }, options) => client.apps.previews(options),
    previewRepos: ({ client }, options) => client.apps.previewRepos(options),
    enablePreviewRepo: ({ client }, options) => client.apps.enablePreviewRepo(1, {}, options),
    disablePreviewRepo: ({ client }, options) => client.apps.disablePreviewRepo(1, options),
    listEnv: ({ client }, options) => client.apps.listEnv("x", options),
    setEnv: ({ client }, options) => client.apps.setEnv("x", "k", "v", {}, options),
    unsetEnv: ({ client }, options) => client.apps.unsetEnv("x", "k", options),
    importEnv: ({ client }, options) => client.apps.importEnv("x", "k=v", {}, options),
    addDomain: ({ client }, options) => client.apps.addDomain("x", "d", options),
    listDomains: ({ client }, options) => client.apps.listDomains("x", options),
    getDomain: ({ client }, options) => client.apps.getDomain("x", "d", options),
    removeDomain: ({ client }, options) => client.apps.removeDomain("x", "d", options),
    listPreviewEnv: ({ client }, options) => client.apps.listPreviewEnv(1, options),
    setPreviewEnv: ({ client }, options) => client.apps.setPreviewEnv(1, "k", "v", {}, options),
    unsetPreviewEnv: ({ client }, options) => client.apps.unsetPreviewEnv(1, "k", options),
    importPreviewEnv: ({ client }, options) => client.apps.importPreviewEnv(1, "k=v", {}, options),
  },
};

/** Methods that wait for nothing. */
const IMMEDIATE = new Set(["client.send", "client.close", "sandbox.previewUrl", "Sandbox.fromInfo"]);

/** Changed through an argument of their own or by what they are made of: see their rows. */
const methodsOf = (target: object): string[] =>
  Object.entries(Object.getOwnPropertyDescriptors(target))
    .filter(([name, { value }]) => typeof value === "function" && !["constructor", "prototype"].includes(name))
    .map(([name]) => name);

let server: ScriptedServer;
let subject: Subject;
beforeEach(async () => {
  server = await ScriptedServer.start();
  const client = server.client();
  subject = { client, sandbox: server.sandbox(), context: new CodeContext(client, "sb", "ctx") };
});
afterEach(() => server.stop());

test("every asynchronous method has a row", () => {
  const { client, sandbox, context } = subject;
  const namespaces = Object.entries(client).filter(([name]) => name in ROWS);
  const objects: [string, object][] = [
    ["Sandbox", Sandbox],
    ...(Object.entries({ client, sandbox, context, commands: sandbox.commands, filesystem: sandbox.filesystem }) as [
      string,
      object,
    ][]),
    ...(namespaces as [string, object][]),
  ].map(([name, object]) => [name as string, name === "Sandbox" ? (object as object) : Object.getPrototypeOf(object)]);
  const methods = objects.flatMap(([name, object]) => methodsOf(object).map((method) => `${name}.${method}`));
  const rows = Object.entries(ROWS).flatMap(([name, calls]) => Object.keys(calls).map((method) => `${name}.${method}`));
  expect(rows.sort()).toEqual(methods.filter((method) => !IMMEDIATE.has(method)).sort());
});

const calls = Object.entries(ROWS).flatMap(([name, methods]) =>
  Object.entries(methods).map(([method, call]): [string, Call] => [`${name}.${method}`, call]),
);

const outcome = async (call: Call, options: CallOptions) => {
  try {
    return await call(subject, options);
  } catch (error) {
    return error;
  }
};

test.each(calls)("%s sends nothing after an abort and keeps its reason", async (_, call) => {
  const error = await outcome(call, { signal: AbortSignal.abort("mine") });
  expect(error).toBeInstanceOf(AbortError);
  expect(error).toMatchObject({ code: "aborted", cause: "mine" });
  expect(server.requests).toHaveLength(0);
});

test.each(calls)("%s ends at its time limit and closes its connection", async (_, call) => {
  server.onAny(silence);
  expect(await outcome(call, { timeoutMs: 40 })).toBeInstanceOf(TimeoutError);
  await server.until(() => server.sockets.size === 0);
});
