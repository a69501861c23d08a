// A program as it was written for 0.9.0: every option object and every result. It is compiled unchanged.
import Default, {
  type AppCreateOptions,
  type AppDomain,
  type AppDomainRecord,
  type AppInfo,
  AppsAPI,
  AppsNamespace,
  type AppUpdateOptions,
  AuthError,
  BadRequestError,
  type BranchOutcome,
  type Candidate,
  type Client,
  type ClientConfig,
  CodeContext,
  CommandError,
  type CreatedToken,
  type DatabaseCloneOptions,
  type DatabaseCreateOptions,
  type DatabaseInfo,
  DatabasesAPI,
  DatabasesNamespace,
  type DeploymentInfo,
  type EnvVar,
  type ExecResult,
  type ExecStreamCallbacks,
  type Execution,
  ExploreError,
  type ExploreOptions,
  type ExploreResult,
  type FileInfo,
  type FunctionCreateOptions,
  type FunctionDeployOptions,
  type FunctionInfo,
  type FunctionMetrics,
  type FunctionRun,
  type FunctionRunInfo,
  type FunctionRuntime,
  FunctionsAPI,
  FunctionsNamespace,
  type FunctionUpdateOptions,
  type LifecycleInfo,
  type LogsOptions,
  type MeInfo,
  NetworkError,
  NotFoundError,
  PandaStackError,
  type PreviewRepo,
  type PromoteResult,
  type Result,
  Sandbox,
  type SandboxCreateOptions,
  type SandboxForkOptions,
  type SandboxForkTreeOptions,
  type SandboxInfo,
  SandboxTimeout,
  type ScheduleCreateOptions,
  type ScheduleInfo,
  SchedulesAPI,
  SchedulesNamespace,
  type ScheduleUpdateOptions,
  ServerError,
  type SnapshotInfo,
  SnapshotsAPI,
  SnapshotsNamespace,
  type TemplateBuild,
  TemplateBuildError,
  type TemplateBuildOptions,
  type TemplateDockerfileBuildOptions,
  type TemplateInfo,
  type TemplateRegisterOptions,
  type TokenInfo,
  type VolumeInfo,
  VolumesAPI,
  VolumesNamespace,
} from "@pandastack/sdk";

const config: ClientConfig = { apiUrl: "https://api.example", apiKey: "pds_x", timeoutMs: 1000 };

export async function sandboxes(): Promise<void> {
  const client: Client = new Default(config);
  const [url, key, limit]: [string, string | undefined, number] = [client.apiUrl, client.apiKey, client.timeoutMs];
  const me: MeInfo = await client.me();
  const raw = await client.request<{ a: number }>("GET", "/x", {
    query: { a: "b", c: 1, d: true, e: undefined },
    json: {},
    headers: { a: "b" },
    timeoutMs: 1,
    parseAs: "json",
    noRetry: true,
  });
  const options: SandboxCreateOptions = {
    template: "base",
    cpu: 1,
    memoryMb: 512,
    memory_mb: 512,
    fromSnapshot: "s",
    from_snapshot: "s",
    ttlSeconds: 1,
    ttl_seconds: 1,
    persistent: true,
    metadata: { a: "b" },
    volumes: [
      { name: "v", read_only: true },
      { name: "w", readOnly: false },
    ],
  };
  const sandbox: Sandbox = await Sandbox.create(options, client);
  const all: Sandbox[] = [...(await Sandbox.list(config)), await Sandbox.get("x", config), ...(await client.sandboxes.list())];
  const info: SandboxInfo = sandbox.info;
  const known: (string | number | Record<string, string> | undefined)[] = [
    info.guest_ip,
    info.host_tap,
    info.mac,
    info.vsock_cid,
    info.metadata,
    info.from_snapshot,
    info.boot_ms,
    info.boot_mode,
    info.created_at,
  ];
  const made: SandboxInfo = { id: "x", template: "t", cpu: 1, memory_mb: 1, status: "whatever", guest_ip: "1.2.3.4" };
  const again: Sandbox = Sandbox.fromInfo(made, client);
  const [id, template, status]: string[] = [again.id, again.template, again.status];
  if (sandbox.status === "stopped") await sandbox.kill();
  const result: ExecResult = await sandbox.exec("x", { timeoutSeconds: 1, check: true });
  const codes: number[] = [result.exitCode, result.exit_code, result.duration_ms ?? 0];
  const callbacks: ExecStreamCallbacks = {
    onStdout: (text: string) => void text,
    onStderr: (text) => void text,
    timeoutSeconds: 1,
  };
  const code: number = await sandbox.execStream("x", callbacks);
  const ran: ExecResult[] = [await sandbox.runCode("x", "python"), await sandbox.commands.run("x", { timeoutSeconds: 1 })];
  const logs: LogsOptions = { stream: "both", follow: true };
  for await (const line of sandbox.logs(logs)) line.trim();
  await Promise.all([sandbox.pause(), sandbox.resume(), sandbox.hibernate(), sandbox.wake(), sandbox.kill()]);
  const snapshot: SnapshotInfo = await sandbox.snapshot();
  const fork: SandboxForkOptions = { metadata: { a: "b" } };
  const tree: SandboxForkTreeOptions = { count: 2, metadata: {} };
  const copies: Sandbox[] = [await sandbox.fork(fork), ...(await sandbox.forkTree(tree))];
  const promoted: PromoteResult = await sandbox.promote({ cleanupSiblings: true, treeId: "t" });
  const lifecycle: LifecycleInfo[] = [await sandbox.setTtl(1), await sandbox.setPersistent(true), await sandbox.lifecycle()];
  const urls: Record<number, string> = { ...(await sandbox.previewUrls()), 1: sandbox.previewUrl(1, "http") };
  await using disposed = await client.sandboxes.create();
  await client.sandboxes.delete(disposed.id);
  void [url, key, limit, me.user_id, raw.a, all, known, id, template, status, codes, code, ran, snapshot.id, copies];
  void [promoted.failures, lifecycle[0]?.ttl_seconds, urls];
}

export async function explorations(sandbox: Sandbox): Promise<void> {
  const candidates: (Candidate | string)[] = [
    "a",
    { label: "b", cmd: "x", timeoutS: 1, env: { A: "b" }, score: 1 },
    { label: "c", fn: async (copy) => copy.exec("x") },
  ];
  const options: ExploreOptions = {
    scoreFn: async (_copy: Sandbox, outcome: BranchOutcome) => (outcome.ok ? 1 : 0),
    select: (outcomes) => outcomes[0] as BranchOutcome,
    requireSuccess: true,
    maxConcurrency: 2,
    cleanupLosers: true,
    promoteWinner: true,
    captureFiles: "/app",
    ttlSeconds: 1,
    onOutcome: (outcome) => void outcome.filesChanged,
  };
  const found: ExploreResult = await sandbox.explore(candidates, options);
  const winner: Sandbox | null = found.winner;
  const outcome: BranchOutcome | null = found.winnerOutcome;
  void [winner, outcome?.exitCode, outcome?.stdoutTail, outcome?.value, outcome?.sandbox?.id, found.reapFailures, found.errors];
}

export async function contexts(sandbox: Sandbox, client: Client): Promise<void> {
  await using context: CodeContext = await sandbox.createCodeContext("python");
  const same = new CodeContext(client, sandbox.id, context.id, context.language);
  const execution: Execution = await same.runCode("1", { timeoutSeconds: 1 });
  const result: Result | undefined = execution.results[0];
  const texts: (string | undefined)[] = [execution.stdout, execution.error, execution.png, execution.text];
  const forms: (string | undefined)[] = [result?.png, result?.jpeg, result?.svg, result?.html, result?.markdown, result?.text];
  const data: Record<string, string> = result?.data ?? {};
  const json: unknown = result?.json;
  const code: number = execution.exit_code + (execution.duration_ms ?? 0);
  await same.close();
  void [texts, forms, data, json, code];
}

export async function files(sandbox: Sandbox): Promise<void> {
  const { filesystem } = sandbox;
  const text: string = await filesystem.read("/a");
  const written: { path: string; bytes: number } = await filesystem.write("/a", new Uint8Array([1]));
  const sent: { path: string; bytes: number } = await filesystem.upload("a", "/a");
  await filesystem.download("/a", "a");
  const infos: FileInfo[] = [...(await filesystem.list()), await filesystem.stat("/a")];
  const there: boolean = await filesystem.exists("/a");
  for await (const { dir, dirs, files } of filesystem.walk("/")) void [dir, dirs[0]?.name, files[0]?.mtime];
  void [text, written, sent, infos[0]?.mode, there];
}

export async function templates({ templates, tokens }: Client): Promise<void> {
  const infos: TemplateInfo[] = [...(await templates.list()), await templates.get("t")];
  const rootfs: TemplateBuildOptions = { name: "t", rootfs: new Blob([]), sizeMb: 1, size_mb: 1, kernel: "k", filename: "f" };
  const image: TemplateRegisterOptions = { name: "t", imageRef: "i", sizeMb: 1, cpu: 1, memoryMb: 1, memory_mb: 1, kernel: "k" };
  const file: TemplateDockerfileBuildOptions = { name: "t", dockerfile: "FROM x", context: { a: "b", c: new Uint8Array() } };
  const builds: TemplateBuild[] = [
    await templates.build(rootfs),
    await templates.register(image),
    await templates.buildFromDockerfile(file),
    ...(await templates.builds()),
    await templates.buildStatus("b"),
    await templates.waitForBuild("b", { intervalMs: 1, timeoutMs: 1 }),
  ];
  for await (const line of templates.buildLogs("b", { follow: false })) line.trim();
  await templates.delete("t");
  const list: TokenInfo[] = await tokens.list();
  const created: CreatedToken = await tokens.create("label");
  await tokens.revoke(created.prefix);
  void [infos[0]?.tools, infos[0]?.meta, builds[0]?.status === "other", list[0]?.label, created.token];
}

export async function functions({ functions, schedules }: Client): Promise<void> {
  const runtime: FunctionRuntime = "nodejs";
  const create: FunctionCreateOptions = { entrypoint: "e", env: { A: "b" }, template: "t", public: true };
  const deploy: FunctionDeployOptions = { ...create, name: "f", runtime, code: Buffer.from("x") };
  const update: FunctionUpdateOptions = { name: "f", env: {}, public: false, entrypoint: "e" };
  const infos: FunctionInfo[] = [
    await functions.create("f", runtime, "code", create),
    await functions.deploy(deploy),
    ...(await functions.list()),
    await functions.get("f"),
    await functions.update("f", update),
    await functions.deployBundle("f", Buffer.from("x"), "e"),
  ];
  const code: ArrayBuffer = await functions.getCode("f");
  const runs: FunctionRun[] = [await functions.invoke("f", {}), await functions.trigger("f"), await functions.recordRun("f", {})];
  const more: FunctionRunInfo[] = [...(await functions.runs("f")), ...(await functions.listRuns("f"))];
  const metrics: FunctionMetrics = await functions.metrics("f", 1);
  await functions.delete("f");
  const paused: ScheduleCreateOptions = { paused: true };
  const change: ScheduleUpdateOptions = { cron: "* * * * *", paused: false };
  const plans: ScheduleInfo[] = [
    await schedules.create("s", "f", "* * * * *", paused),
    await schedules.create({ name: "s", function_id: "f", cron: "* * * * *", paused: true }),
    ...(await schedules.list()),
    await schedules.get("s"),
    await schedules.update("s", change),
  ];
  runs.push(await schedules.trigger("s"), ...(await schedules.runs("s")), ...(await schedules.listRuns("s")));
  await schedules.delete("s");
  void [infos[0]?.endpoint, code.byteLength, runs[0]?.ended_at, more, metrics.p99_ms, plans[0]?.next_run_at];
}

export async function storage({ databases, volumes, snapshots }: Client): Promise<void> {
  const create: DatabaseCreateOptions = { cpu: 1, memory_mb: 1, label: "l", size: "1g", always_on: true };
  const clone: DatabaseCloneOptions = { label: "l", target_time: "2026-01-01T00:00:00Z", size: "1g" };
  const infos: DatabaseInfo[] = [
    await databases.create(create),
    await databases.waitUntilReady("d", 1000),
    ...(await databases.list()),
    await databases.get("d"),
    await databases.failover("d"),
    await databases.update("d", { always_on: true }),
    await databases.clone("d", clone, { wait: false, timeoutMs: 1 }),
    await databases.resetCredentials("d"),
  ];
  const { connection_url, broker_url, broker_token } = await databases.connection("d");
  const { status, detail } = await databases.wake("d");
  await databases.delete("d");
  const disks: VolumeInfo[] = [
    await volumes.create({ name: "v", size_mb: 1 }),
    ...(await volumes.list()),
    await volumes.get("v"),
  ];
  await volumes.delete("v");
  const kept: SnapshotInfo[] = [...(await snapshots.list({ sandbox_id: "s" })), await snapshots.get("s")];
  await snapshots.delete("s");
  void [infos[0]?.failover_eta_seconds, connection_url, broker_url, broker_token, status, detail, disks, kept[0]?.size_bytes];
}

export async function apps({ apps }: Client): Promise<void> {
  const change: AppUpdateOptions = { git_branch: "b", framework: "vite", port: 1, env: {}, template: "t", cpu: 1, memory_mb: 1 };
  const create: AppCreateOptions = { ...change, name: "a", git_url: "https://x", install_command: "i", root_directory: "r" };
  const infos: AppInfo[] = [
    await apps.create(create),
    ...(await apps.list()),
    await apps.get("a"),
    await apps.update("a", change),
    ...(await apps.previews()),
  ];
  const runs: DeploymentInfo[] = [
    await apps.deploy("a", { gitRef: "r" }),
    ...(await apps.deployments("a")),
    await apps.deployment("a", "d"),
    await apps.rollback("a"),
  ];
  for await (const line of apps.deployLogs("a", "d")) line.trim();
  const repos: PreviewRepo[] = await apps.previewRepos();
  const enabled: boolean = (await apps.enablePreviewRepo(1, { repoFullName: "o/n" })).enabled;
  await apps.disablePreviewRepo(1);
  const env: EnvVar[] = [...(await apps.listEnv("a")), ...(await apps.listPreviewEnv(1))];
  const set = await apps.setEnv("a", "K", "v", { secret: true, scope: "preview" });
  const imported: number = (await apps.importEnv("a", "K=v", { secret: true, scope: "all" })).imported;
  await apps.unsetEnv("a", "K");
  const domains: AppDomain[] = [await apps.addDomain("a", "d"), ...(await apps.listDomains("a")), await apps.getDomain("a", "d")];
  const record: AppDomainRecord | undefined = domains[0]?.records[0];
  await apps.removeDomain("a", "d");
  await apps.setPreviewEnv(1, "K", "v", { secret: true });
  await apps.importPreviewEnv(1, "K=v", { secret: true });
  await apps.unsetPreviewEnv(1, "K");
  await apps.delete("a");
  void [infos[0]?.pr_number, runs[0]?.finished_at, repos, enabled, env[0]?.scope, set.scope, imported, record?.purpose];
}

export function errors(error: unknown, client: Client): string {
  if (error instanceof CommandError) return `${error.exitCode} ${error.stdout} ${error.stderr} ${error.statusCode}`;
  if (error instanceof TemplateBuildError) return (error.build as TemplateBuild).status;
  if (error instanceof AuthError || error instanceof NotFoundError || error instanceof BadRequestError) return error.message;
  if (error instanceof ServerError || error instanceof NetworkError || error instanceof SandboxTimeout) return error.name;
  if (error instanceof ExploreError) return error.message;
  if (error instanceof PandaStackError) return String(error.statusCode ?? error.response?.status);
  const thrown = [
    new PandaStackError("x", 404, new Response()),
    new CommandError("x", 1, "out", "err"),
    new NotFoundError("x", 404),
    new ExploreError("x"),
  ];
  const made = [new FunctionsAPI(client), new SchedulesAPI(client), new DatabasesNamespace(client), new AppsAPI(client)];
  const others = [
    new FunctionsNamespace(client),
    new SchedulesNamespace(client),
    new DatabasesAPI(client),
    new AppsNamespace(client),
    new VolumesNamespace(client),
    new SnapshotsNamespace(client),
  ];
  return `${thrown.length} ${made.length} ${others.length} ${new VolumesAPI(client)} ${new SnapshotsAPI(client)}`;
}
