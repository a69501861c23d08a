import type { Client, ClientConfig } from "../client.js";
import type { CodeContext } from "../code-context.js";
import type { Execution } from "../execution.js";
import { checked } from "../options.js";
import type { Sandbox, SandboxCreateOptions } from "../sandbox.js";
import { schema } from "../schema.js";

/** Which call of the tool something belongs to. */
export interface ToolCallInfo {
  /** Id the framework gave to the call. */
  toolCallId?: string | undefined;
}

/** Options of `runCodeTool`. */
export interface RunCodeToolOptions {
  /** A sandbox of yours to use; never killed by the tool. Default: one is made at the first call. */
  sandbox?: Sandbox;
  /** A kernel of yours to use; never closed by the tool. Default: one is made in the sandbox at the first call. */
  context?: CodeContext;
  /** Options of the sandbox the tool makes: as of `Sandbox.create`. Default: template `code-interpreter`, one hour to live. */
  create?: SandboxCreateOptions;
  /** Client, or its configuration, with which the tool makes its sandbox. Default: from the environment. */
  client?: Client | ClientConfig;
  /** Language of the kernel. Default `python`. */
  language?: string;
  /** Name of the tool. Default `run_code`. */
  name?: string;
  /** What the model is told about the tool. Default: that state is kept, and how results and charts come back. */
  description?: string;
  /** Time limit of one call in seconds. Default 120. */
  timeoutSeconds?: number;
  /** Most characters of the text the model gets; head and tail are kept. Default 20000. */
  maxOutputChars?: number;
  /**
   * True: charts go to the model as images. Default false: a line of text says that there is a chart.
   *
   * Several providers turn an image in a tool result into text: tens of thousands of tokens of base64.
   */
  images?: boolean;
  /** Called with each piece of standard output as it comes; awaited. */
  onStdout?: (text: string, call: ToolCallInfo) => void | Promise<void>;
  /** Called with each piece of standard error as it comes; awaited. */
  onStderr?: (text: string, call: ToolCallInfo) => void | Promise<void>;
  /** Called with the whole execution, charts and tables included, before the model gets its text; awaited. */
  onExecution?: (execution: Execution, call: ToolCallInfo) => void | Promise<void>;
  /**
   * Which session a call belongs to, from what the framework passes to the tool. Each key has its own kernel and sandbox.
   * Default: one session for all calls. Undefined as key: the default session.
   */
  // biome-ignore lint/suspicious/noExplicitAny: each framework passes its own object
  sessionKey?: (frameworkContext: any) => string | undefined;
  /** Seconds without a call after which a session gives its kernel and sandbox back. Default: never. */
  idleSeconds?: number;
  /** Makes the text for the model. Default: error, stdout, stderr, results, cut to `maxOutputChars`. */
  format?: (execution: Execution) => string;
}

const toolOptions = schema((z) => {
  const callback = z.custom<(...parameters: never[]) => unknown>((value) => typeof value === "function", "must be a function");
  const having = (method: string, what: string) =>
    z.custom((value) => typeof Object(value)[method] === "function", `must be a ${what} of the SDK`);

  return z.strictObject({
    sandbox: having("createCodeContext", "sandbox").optional(),
    context: having("runCode", "code context").optional(),
    create: z.record(z.string(), z.unknown()).optional(),
    client: z.custom((value) => typeof value === "object" && value !== null, "must be a client or its configuration").optional(),
    language: z.string().min(1).optional(),
    name: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, `_` or `-`: models accept no other names")
      .optional(),
    description: z.string().min(1).optional(),
    timeoutSeconds: z.number().positive().optional(),
    maxOutputChars: z.number().int().nonnegative().optional(),
    images: z.boolean().optional(),
    onStdout: callback.optional(),
    onStderr: callback.optional(),
    onExecution: callback.optional(),
    sessionKey: callback.optional(),
    idleSeconds: z.number().positive().optional(),
    format: callback.optional(),
  });
});

/**
 * Checks options where they come in, so that a mistake shows where it was made.
 *
 * @throws {InvalidOptionError} that names each wrong option.
 */
export function checkedOptions(options: RunCodeToolOptions): RunCodeToolOptions {
  checked(toolOptions, options, "runCodeTool");
  return options;
}
