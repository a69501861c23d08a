import type { Row } from "./compare.js";
import { ID } from "./recording-server.js";

const json = (body: unknown, status = 200) => ({ status, type: "application/json", body: JSON.stringify(body) });
const DATABASE = { id: ID, status: "running", template: "postgres-16", connection_url: "postgresql://x" };
const done = { status: 200, type: "text/event-stream", body: 'data: a\n\ndata: {"line":"b\\n"}\n\nevent: done\ndata: end\n\n' };

export const namespaceRows: Row[] = [
  { name: "templates.list", call: ({ client }) => client.templates.list() },
  { name: "templates.get", call: ({ client }) => client.templates.get("code-interpreter") },
  {
    name: "templates.build",
    call: ({ client }) => client.templates.build({ name: "t", rootfs: new Uint8Array([1]), kernel: "k" }),
  },
  {
    name: "templates.register",
    call: ({ client }) => client.templates.register({ name: "t", imageRef: "i", cpu: 2, memoryMb: 512, sizeMb: 64 }),
  },
  {
    name: "templates.buildFromDockerfile",
    call: ({ client }) =>
      client.templates.buildFromDockerfile({
        name: "t",
        dockerfile: "FROM a\nRUN b",
        context: { "x/y.txt": "é", z: new Uint8Array([65]) },
      }),
  },
  { name: "templates.delete", call: ({ client }) => client.templates.delete("t") },
  { name: "templates.builds", call: ({ client }) => client.templates.builds() },
  { name: "templates.buildStatus", call: ({ client }) => client.templates.buildStatus("9de5219930fee2f4") },
  {
    name: "templates.buildLogs",
    call: ({ client }) => client.templates.buildLogs("b"),
    answers: { "GET /v1/templates/builds/b/logs": done },
  },
  {
    name: "templates.buildLogs without follow",
    call: ({ client }) => client.templates.buildLogs("b", { follow: false }),
    answers: { "GET /v1/templates/builds/b/logs": done },
  },
  {
    name: "templates.buildLogs with words that end it",
    call: ({ client }) => client.templates.buildLogs("b"),
    answers: {
      "GET /v1/templates/builds/b/logs": { ...done, body: "data: end\n\ndata: event: done\n\nevent: done\ndata: end\n\n" },
    },
    deviation: { id: "log-lines-are-text", parts: ["result"] },
  },
  {
    name: "templates.waitForBuild",
    call: ({ client }) => client.templates.waitForBuild("b"),
    answers: { "GET /v1/templates/builds/b": json({ id: "b", name: "t", status: "done", started_at: "", size_mb: 1 }) },
  },
  {
    name: "templates.waitForBuild that failed",
    fails: true,
    call: ({ client }) => client.templates.waitForBuild("b"),
    answers: {
      "GET /v1/templates/builds/b": json({ id: "b", name: "t", status: "failed", error: "no", started_at: "", size_mb: 1 }),
    },
  },
  { name: "tokens.list", call: ({ client }) => client.tokens.list() },
  { name: "tokens.create", call: ({ client }) => client.tokens.create("ci é") },
  { name: "tokens.create without a label", call: ({ client }) => client.tokens.create() },
  { name: "tokens.revoke", call: ({ client }) => client.tokens.revoke("pds_a51e1ef3") },
  { name: "functions.create", call: ({ client }) => client.functions.create("f", "python", "print('é')", { env: { A: "1" } }) },
  {
    name: "functions.create of bytes",
    call: ({ client }) =>
      client.functions.create("f", "nodejs", Buffer.from([0, 255]), { entrypoint: "x.js", public: true, template: "base" }),
  },
  { name: "functions.deploy", call: ({ client }) => client.functions.deploy({ name: "f", runtime: "nodejs", code: "1" }) },
  { name: "functions.list", call: ({ client }) => client.functions.list() },
  {
    name: "functions.get",
    call: ({ client }) => client.functions.get(ID),
    answers: { [`GET /v1/functions/${ID}`]: json({ id: ID, url: "https://f" }) },
  },
  { name: "functions.update", call: ({ client }) => client.functions.update(ID, { public: true, env: {} }) },
  { name: "functions.delete", call: ({ client }) => client.functions.delete(ID) },
  { name: "functions.getCode", call: ({ client }) => client.functions.getCode(ID) },
  {
    name: "functions.getCode of nothing",
    fails: true,
    call: ({ client }) => client.functions.getCode("x"),
    answers: { "GET /v1/functions/x/code": json({ error: "no" }, 404) },
    deviation: { id: "typed-errors", parts: ["error"] },
  },
  { name: "functions.invoke", call: ({ client }) => client.functions.invoke(ID) },
  { name: "functions.invoke with input", call: ({ client }) => client.functions.invoke(ID, { a: 1 }) },
  { name: "functions.trigger", call: ({ client }) => client.functions.trigger(ID) },
  { name: "functions.recordRun", call: ({ client }) => client.functions.recordRun(ID, { status: "success" }) },
  { name: "functions.runs", call: ({ client }) => client.functions.runs(ID) },
  { name: "functions.listRuns", call: ({ client }) => client.functions.listRuns(ID) },
  { name: "functions.deployBundle", call: ({ client }) => client.functions.deployBundle(ID, Buffer.from("x"), "h.py") },
  { name: "functions.metrics", call: ({ client }) => client.functions.metrics(ID, 6) },
  { name: "schedules.create", call: ({ client }) => client.schedules.create("s", ID, "* * * * *", { paused: true }) },
  {
    name: "schedules.create of an object",
    call: ({ client }) => client.schedules.create({ name: "s", function_id: ID, cron: "* * * * *" }),
  },
  { name: "schedules.list", call: ({ client }) => client.schedules.list() },
  { name: "schedules.get", call: ({ client }) => client.schedules.get(ID) },
  { name: "schedules.update", call: ({ client }) => client.schedules.update(ID, { paused: false }) },
  { name: "schedules.delete", call: ({ client }) => client.schedules.delete(ID) },
  { name: "schedules.trigger", call: ({ client }) => client.schedules.trigger(ID) },
  { name: "schedules.runs", call: ({ client }) => client.schedules.runs(ID) },
  { name: "schedules.listRuns", call: ({ client }) => client.schedules.listRuns(ID) },
  { name: "databases.create", call: ({ client }) => client.databases.create({ label: "d", size: "1g", always_on: true }) },
  { name: "databases.waitUntilReady", call: ({ client }) => client.databases.waitUntilReady(ID) },
  {
    name: "databases.waitUntilReady of one that failed",
    fails: true,
    call: ({ client }) => client.databases.waitUntilReady(ID),
    answers: { [`GET /v1/databases/${ID}`]: json({ id: ID, status: "failed", error: "no disk" }) },
  },
  { name: "databases.list", call: ({ client }) => client.databases.list() },
  { name: "databases.get", call: ({ client }) => client.databases.get(ID) },
  { name: "databases.delete", call: ({ client }) => client.databases.delete(ID) },
  { name: "databases.connection", call: ({ client }) => client.databases.connection(ID) },
  {
    name: "databases.failover",
    call: ({ client }) => client.databases.failover(ID),
    answers: { [`POST /v1/databases/${ID}/failover`]: json(DATABASE) },
  },
  {
    name: "databases.wake",
    call: ({ client }) => client.databases.wake(ID),
    answers: { [`POST /v1/databases/${ID}/wake`]: json({ id: ID, status: "waking" }) },
  },
  {
    name: "databases.update",
    call: ({ client }) => client.databases.update(ID, { always_on: true }),
    answers: { [`PATCH /v1/databases/${ID}`]: json(DATABASE) },
  },
  {
    name: "databases.clone",
    call: ({ client }) => client.databases.clone(ID, { label: "c" }),
    answers: { [`POST /v1/databases/${ID}/clone`]: json({ ...DATABASE, status: "provisioning" }, 202) },
  },
  {
    name: "databases.clone without waiting",
    call: ({ client }) => client.databases.clone(ID, {}, { wait: false }),
    answers: { [`POST /v1/databases/${ID}/clone`]: json({ ...DATABASE, status: "provisioning" }, 202) },
  },
  {
    name: "databases.resetCredentials",
    call: ({ client }) => client.databases.resetCredentials(ID),
    answers: { [`POST /v1/databases/${ID}/reset-credentials`]: json({ id: ID, status: "running" }) },
  },
  { name: "volumes.create", call: ({ client }) => client.volumes.create({ name: "v", size_mb: 16 }) },
  { name: "volumes.list", call: ({ client }) => client.volumes.list() },
  {
    name: "volumes.get",
    call: ({ client }) => client.volumes.get("a/b"),
    answers: { "GET /v1/volumes/a%2Fb": json({ name: "a/b", size_mb: 1 }) },
  },
  { name: "volumes.delete", call: ({ client }) => client.volumes.delete("v") },
  {
    name: "snapshots.list",
    call: ({ client }) => client.snapshots.list({ sandbox_id: "a b" }),
    answers: { "GET /v1/snapshots": json({ snapshots: [{ id: "s" }] }) },
  },
  {
    name: "snapshots.list of all",
    call: ({ client }) => client.snapshots.list(),
    answers: { "GET /v1/snapshots": json([{ id: "s" }]) },
  },
  {
    name: "snapshots.get",
    call: ({ client }) => client.snapshots.get("s"),
    answers: { "GET /v1/snapshots/s": json({ id: "s" }) },
  },
  {
    name: "snapshots.delete",
    call: ({ client }) => client.snapshots.delete("s"),
    answers: { "DELETE /v1/snapshots/s": { status: 204 } },
  },
  { name: "apps.create", call: ({ client }) => client.apps.create({ name: "a", git_url: "https://x/y.git", env: { A: "b" } }) },
  { name: "apps.list", call: ({ client }) => client.apps.list() },
  { name: "apps.get", call: ({ client }) => client.apps.get(ID) },
  { name: "apps.update", call: ({ client }) => client.apps.update(ID, { port: 80 }) },
  { name: "apps.delete", call: ({ client }) => client.apps.delete(ID) },
  { name: "apps.deploy", call: ({ client }) => client.apps.deploy(ID, { gitRef: "dev" }) },
  { name: "apps.deploy of the branch", call: ({ client }) => client.apps.deploy(ID, { gitRef: "" }) },
  { name: "apps.deployments", call: ({ client }) => client.apps.deployments(ID) },
  { name: "apps.deployment", call: ({ client }) => client.apps.deployment(ID, ID) },
  {
    name: "apps.rollback",
    call: ({ client }) => client.apps.rollback(ID),
    answers: { [`POST /v1/apps/${ID}/rollback`]: json({ id: "d" }, 202) },
  },
  { name: "apps.deployLogs", call: ({ client }) => client.apps.deployLogs(ID, ID) },
  {
    name: "apps.previews",
    call: ({ client }) => client.apps.previews(),
    answers: { "GET /v1/apps": json([{ id: "a" }, { id: "b", is_preview: true }]) },
  },
  {
    name: "apps.previewRepos",
    call: ({ client }) => client.apps.previewRepos(),
    answers: { "GET /v1/preview-repos": json({ repos: [{ github_repo_id: 1 }] }) },
  },
  {
    name: "apps.enablePreviewRepo",
    call: ({ client }) => client.apps.enablePreviewRepo(1),
    answers: { "POST /v1/preview-repos": json({ github_repo_id: 1, enabled: true }) },
  },
  {
    name: "apps.disablePreviewRepo",
    call: ({ client }) => client.apps.disablePreviewRepo(1),
    answers: { "DELETE /v1/preview-repos/1": { status: 204 } },
  },
  {
    name: "apps.listEnv",
    call: ({ client }) => client.apps.listEnv(ID),
    answers: { [`GET /v1/apps/${ID}/env`]: json({ env: [{ key: "A" }] }) },
  },
  {
    name: "apps.setEnv",
    call: ({ client }) => client.apps.setEnv(ID, "A/B", "v", { secret: true }),
    answers: { [`PUT /v1/apps/${ID}/env/A%2FB`]: json({ key: "A/B" }) },
  },
  {
    name: "apps.unsetEnv",
    call: ({ client }) => client.apps.unsetEnv(ID, "A"),
    answers: { [`DELETE /v1/apps/${ID}/env/A`]: { status: 204 } },
  },
  {
    name: "apps.importEnv",
    call: ({ client }) => client.apps.importEnv(ID, "A=1", { scope: "preview" }),
    answers: { [`POST /v1/apps/${ID}/env/import`]: json({ imported: 1, total: 1 }) },
  },
  {
    name: "apps.addDomain",
    call: ({ client }) => client.apps.addDomain(ID, "a.example"),
    answers: { [`POST /v1/apps/${ID}/domains`]: json({ domain: "a.example" }) },
  },
  {
    name: "apps.listDomains",
    call: ({ client }) => client.apps.listDomains(ID),
    answers: { [`GET /v1/apps/${ID}/domains`]: json({ domains: [] }) },
  },
  {
    name: "apps.getDomain",
    call: ({ client }) => client.apps.getDomain(ID, "a.example"),
    answers: { [`GET /v1/apps/${ID}/domains/a.example`]: json({ domain: "a.example" }) },
  },
  {
    name: "apps.removeDomain",
    call: ({ client }) => client.apps.removeDomain(ID, "a.example"),
    answers: { [`DELETE /v1/apps/${ID}/domains/a.example`]: { status: 204 } },
  },
  {
    name: "apps.listPreviewEnv",
    call: ({ client }) => client.apps.listPreviewEnv(1),
    answers: { "GET /v1/repos/1/preview-env": json({ env: [] }) },
  },
  {
    name: "apps.setPreviewEnv",
    call: ({ client }) => client.apps.setPreviewEnv(1, "A", "v"),
    answers: { "PUT /v1/repos/1/preview-env/A": json({ key: "A", secret: false }) },
  },
  {
    name: "apps.unsetPreviewEnv",
    call: ({ client }) => client.apps.unsetPreviewEnv(1, "A"),
    answers: { "DELETE /v1/repos/1/preview-env/A": { status: 204 } },
  },
  {
    name: "apps.importPreviewEnv",
    call: ({ client }) => client.apps.importPreviewEnv(1, "A=1", { secret: true }),
    answers: { "POST /v1/repos/1/preview-env/import": json({ imported: 1, total: 1 }) },
  },
];
