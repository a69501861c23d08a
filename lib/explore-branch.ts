/**
 * One candidate in its copy of the sandbox.
 *
 * @internal
 */
import { SandboxTimeout, TimeoutError } from "./errors.js";
import type { BranchOutcome, Candidate } from "./explore.js";
import type { Sandbox } from "./sandbox.js";

/** Characters of each output that an outcome keeps. */
const TAIL = 4096;

/** Where changed files are looked for. */
const ROOTS = "/app /work /root /home";

interface BranchSettings {
  captureFiles: boolean | string;
  marker: string;
  signal?: AbortSignal | undefined;
}

type Ran = Pick<BranchOutcome, "ok" | "exitCode" | "stdoutTail" | "stderrTail" | "error" | "timedOut"> & { value?: unknown };

/** Runs a candidate; whatever it does is an outcome. */
export async function runBranch(sandbox: Sandbox, candidate: Candidate, settings: BranchSettings): Promise<BranchOutcome> {
  const began = performance.now();
  const { captureFiles, marker } = settings;
  const options = { timeoutSeconds: 10, ...(settings.signal ? { signal: settings.signal } : {}) };
  // Without the marker no files are listed; the candidate runs all the same.
  if (captureFiles) await sandbox.exec(`touch ${marker}`, options).catch(() => undefined);
  const ran = await tried(sandbox, candidate, settings.signal);
  const filesChanged = captureFiles && ran.ok ? await changedFiles(sandbox, captureFiles, marker, options) : [];
  const durationMs = Math.round(performance.now() - began);
  return { label: candidate.label, sandboxId: sandbox.id, score: 0, filesChanged, durationMs, sandbox, ...ran };
}

async function tried(sandbox: Sandbox, candidate: Candidate, signal: AbortSignal | undefined): Promise<Ran> {
  const nothing: Ran = { ok: false, exitCode: null, stdoutTail: "", stderrTail: "", error: null, timedOut: false };
  try {
    if (candidate.fn) return { ...nothing, value: await candidate.fn(sandbox), ok: true };
    if (!candidate.cmd) return { ...nothing, error: "candidate has neither cmd nor fn" };
    const { exitCode, stdout, stderr } = await sandbox.exec(candidate.cmd, {
      timeoutSeconds: Math.max(1, Math.floor(candidate.timeoutS ?? 60)),
      ...(candidate.env ? { env: candidate.env } : {}),
      ...(signal ? { signal } : {}),
    });
    return { ...nothing, ok: exitCode === 0, exitCode, stdoutTail: stdout.slice(-TAIL), stderrTail: stderr.slice(-TAIL) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { ...nothing, error: message, timedOut: error instanceof SandboxTimeout || error instanceof TimeoutError };
  }
}

async function changedFiles(
  sandbox: Sandbox,
  captureFiles: true | string,
  marker: string,
  options: { timeoutSeconds: number },
): Promise<string[]> {
  const roots = typeof captureFiles === "string" ? captureFiles : ROOTS;
  const find = `find ${roots} -type f -newer ${marker} 2>/dev/null | head -n 200`;
  const found = await sandbox.exec(find, options).catch(() => undefined);
  return (found?.stdout ?? "").split("\n").filter((line) => line !== "");
}
