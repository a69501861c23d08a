/**
 * Checks of what the namespaces take, beside {@link callOptions}.
 *
 * @internal
 */
import { z } from "zod/v4";
import { signal, strings, text, timeoutMs } from "./options.js";

const flag = z.boolean().optional();
const word = z.string().optional();
const count = z.number().int().positive().optional();

export const volumeOptions = z.strictObject({ name: text, size_mb: z.number().int().positive().max(65_536) });
export const snapshotListOptions = z.strictObject({ sandbox_id: word, signal, timeoutMs });

export const scheduleCreateOptions = z.strictObject({ paused: flag });
export const scheduleRequest = z.strictObject({ name: text, function_id: z.string(), cron: z.string(), paused: flag });
export const scheduleUpdateOptions = z.strictObject({ cron: word, paused: flag });

export const functionRuntime = z.enum(["python", "nodejs"]);
export const functionCreateOptions = z.strictObject({ entrypoint: word, env: strings.optional(), template: word, public: flag });
export const functionUpdateOptions = z.strictObject({ name: word, env: strings.optional(), public: flag, entrypoint: word });

export const databaseCreateOptions = z.strictObject({ cpu: count, memory_mb: count, label: word, size: word, always_on: flag });
export const databaseUpdateOptions = z.strictObject({ always_on: flag });
export const databaseCloneOptions = z.strictObject({ label: word, target_time: word, size: word });
export const waitOptions = z.strictObject({ wait: flag, signal, timeoutMs });

const app = {
  git_branch: word,
  framework: word,
  install_command: word,
  build_command: word,
  start_command: word,
  root_directory: word,
  port: z.number().int().min(1).max(65_535).optional(),
  env: strings.optional(),
  template: word,
  cpu: count,
  memory_mb: count,
};
export const appCreateOptions = z.strictObject({ name: text, git_url: text, ...app });
export const appUpdateOptions = z.strictObject(app);
export const deployOptions = z.strictObject({ gitRef: word });
export const envVarOptions = z.strictObject({ secret: flag, scope: z.enum(["all", "production", "preview"]).optional() });
export const previewRepoOptions = z.strictObject({ repoFullName: word });

const template = { name: text, sizeMb: count, size_mb: count, kernel: word };
const size = { cpu: z.number().optional(), memoryMb: z.number().optional(), memory_mb: z.number().optional() };
export const templateBuildOptions = z.strictObject({ ...template, rootfs: z.unknown(), filename: word });
export const templateRegisterOptions = z.strictObject({ ...template, ...size, imageRef: text });
export const templateDockerfileOptions = z.strictObject({
  ...template,
  ...size,
  dockerfile: text,
  context: z.record(text, z.union([z.string(), z.instanceof(Uint8Array)])).optional(),
});
export const buildLogsOptions = z.strictObject({ follow: flag, signal, timeoutMs });
export const waitForBuildOptions = z.strictObject({ intervalMs: z.number().nonnegative().optional(), signal, timeoutMs });

export const logsOptions = z.strictObject({
  stream: z.enum(["stdout", "stderr", "both"]).optional(),
  follow: flag,
  signal,
  timeoutMs,
});
export const forkOptions = z.strictObject({ metadata: strings.optional(), signal, timeoutMs });
export const forkTreeOptions = forkOptions.extend({ count: z.number().int().min(1).max(16) });
export const promoteOptions = z.strictObject({ cleanupSiblings: flag, treeId: word, signal, timeoutMs });
