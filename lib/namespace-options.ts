/**
 * Checks of what the namespaces take, beside {@link callOptions}.
 *
 * @internal
 */
import { callOptions, flag, strings, text } from "./options.js";
import { milliseconds } from "./quantity.js";
import { schema } from "./schema.js";

const word = schema((z) => z.string().optional());
const count = schema((z) => z.number().int().positive().optional());

export const volumeOptions = schema((z) => z.strictObject({ name: text(), size_mb: z.number().int().positive().max(65_536) }));
export const snapshotListOptions = schema(() => callOptions().extend({ sandbox_id: word() }));

export const scheduleCreateOptions = schema((z) => z.strictObject({ paused: flag() }));
export const scheduleRequest = schema((z) =>
  z.strictObject({ name: text(), function_id: z.string(), cron: z.string(), paused: flag() }),
);
export const scheduleUpdateOptions = schema((z) => z.strictObject({ cron: word(), paused: flag() }));

export const functionRuntime = schema((z) => z.enum(["python", "nodejs"]));
export const functionCreateOptions = schema((z) =>
  z.strictObject({ entrypoint: word(), env: strings(), template: word(), public: flag() }),
);
export const functionUpdateOptions = schema((z) =>
  z.strictObject({ name: word(), env: strings(), public: flag(), entrypoint: word() }),
);

export const databaseCreateOptions = schema((z) =>
  z.strictObject({ cpu: count(), memory_mb: count(), label: word(), size: word(), always_on: flag() }),
);
export const databaseUpdateOptions = schema((z) => z.strictObject({ always_on: flag() }));
export const databaseCloneOptions = schema((z) => z.strictObject({ label: word(), target_time: word(), size: word() }));
export const waitOptions = schema(() => callOptions().extend({ wait: flag() }));

const app = schema((z) => ({
  git_branch: word(),
  framework: word(),
  install_command: word(),
  build_command: word(),
  start_command: word(),
  root_directory: word(),
  port: z.number().int().min(1).max(65_535).optional(),
  env: strings(),
  template: word(),
  cpu: count(),
  memory_mb: count(),
}));
export const appCreateOptions = schema((z) => z.strictObject({ name: text(), git_url: text(), ...app() }));
export const appUpdateOptions = schema((z) => z.strictObject(app()));
export const deployOptions = schema((z) => z.strictObject({ gitRef: word() }));
export const envVarOptions = schema((z) =>
  z.strictObject({ secret: flag(), scope: z.enum(["all", "production", "preview"]).optional() }),
);
export const previewRepoOptions = schema((z) => z.strictObject({ repoFullName: word() }));

const template = schema(() => ({ name: text(), sizeMb: count(), size_mb: count(), kernel: word() }));
const size = schema((z) => ({ cpu: z.number().optional(), memoryMb: z.number().optional(), memory_mb: z.number().optional() }));
export const templateBuildOptions = schema((z) => z.strictObject({ ...template(), rootfs: z.unknown(), filename: word() }));
export const templateRegisterOptions = schema((z) => z.strictObject({ ...template(), ...size(), imageRef: text() }));
export const templateDockerfileOptions = schema((z) =>
  z.strictObject({
    ...template(),
    ...size(),
    dockerfile: text(),
    context: z.record(text(), z.union([z.string(), z.instanceof(Uint8Array)])).optional(),
  }),
);
export const buildLogsOptions = schema(() => callOptions().extend({ follow: flag() }));
export const waitForBuildOptions = schema(() => callOptions().extend({ intervalMs: milliseconds({ least: 0 })() }));

export const logsOptions = schema((z) =>
  callOptions().extend({ stream: z.enum(["stdout", "stderr", "both"]).optional(), follow: flag() }),
);
export const forkOptions = schema(() => callOptions().extend({ metadata: strings() }));
export const forkTreeOptions = schema((z) => forkOptions().extend({ count: z.number().int().min(1).max(16) }));
export const promoteOptions = schema(() => callOptions().extend({ cleanupSiblings: flag(), treeId: word() }));
