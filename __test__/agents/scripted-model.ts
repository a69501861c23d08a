import type { MastraModelConfig } from "@mastra/core/llm";
import { MastraLanguageModelV2Mock } from "@mastra/core/test-utils/llm-mock";
import * as ai6 from "ai";
import { convertArrayToReadableStream, MockLanguageModelV3 } from "ai/test";
import * as ai7 from "ai7";
import { MockLanguageModelV4 } from "ai7/test";

/** One turn of the model: the codes of its calls of `run_code`, or its last words. */
export type Turn = readonly string[] | string;

interface Call {
  prompt: { role: string; content: unknown }[];
}

/** What the model read as results of its calls, before each turn. */
export function toolResults(calls: Call[], turn: number): unknown[] {
  const messages = calls[turn]?.prompt.filter(({ role }) => role === "tool") ?? [];
  return messages.flatMap(({ content }) => (content as { output: unknown }[]).map(({ output }) => output));
}

function callsOf(codes: readonly string[], index: number) {
  return codes.map((code, call) => ({
    type: "tool-call" as const,
    toolCallId: `call-${index}-${call}`,
    toolName: "run_code",
    input: JSON.stringify({ code }),
  }));
}

function contentOf(turn: Turn, index: number) {
  return typeof turn === "string" ? [{ type: "text" as const, text: turn }] : callsOf(turn, index);
}

function partsOf(turn: Turn, index: number) {
  if (typeof turn !== "string") return callsOf(turn, index);
  return [
    { type: "text-start" as const, id: "t" },
    { type: "text-delta" as const, id: "t", delta: turn },
    { type: "text-end" as const, id: "t" },
  ];
}

const finishOf = (turn: Turn) => (typeof turn === "string" ? "stop" : "tool-calls");

/** A model of the AI SDK that says what the script says. Versions 3 and 4 of the specification differ in name only here. */
function aiModel(Model: typeof MockLanguageModelV3, turns: readonly Turn[]) {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const calls: Call[] = [];
  const next = (call: unknown) => {
    calls.push(call as Call);
    const turn = turns[calls.length - 1] ?? "done";
    return { turn, index: calls.length - 1, finishReason: { unified: finishOf(turn), raw: undefined } as const };
  };
  const model = new Model({
    doGenerate: async (call) => {
      const { turn, index, finishReason } = next(call);
      return { content: contentOf(turn, index), finishReason, usage, warnings: [] };
    },
    doStream: async (call) => {
      const { turn, index, finishReason } = next(call);
      const parts = [
        { type: "stream-start" as const, warnings: [] },
        ...partsOf(turn, index),
        { type: "finish" as const, finishReason, usage },
      ];
      return { stream: convertArrayToReadableStream(parts) };
    },
  });
  return { model, calls };
}

/** Version 6 of the AI SDK with its own mock model. */
export const version6 = { version: 6, ai: ai6, scripted: (turns: readonly Turn[]) => aiModel(MockLanguageModelV3, turns) };

/** Version 7 with its own. Its types differ in what is not used here. */
export const version7: typeof version6 = {
  version: 7,
  ai: ai7 as unknown as typeof ai6,
  scripted: (turns) => aiModel(MockLanguageModelV4 as unknown as typeof MockLanguageModelV3, turns),
};

export const aiVersions = [version6, version7];

/** Mastra's own mock model, saying what the script says. */
export function mastraModel(turns: readonly Turn[]) {
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  const calls: Call[] = [];
  const model = new MastraLanguageModelV2Mock({
    doGenerate: async (call) => {
      calls.push(call as Call);
      const turn = turns[calls.length - 1] ?? "done";
      return { content: contentOf(turn, calls.length - 1), finishReason: finishOf(turn), usage, warnings: [] };
    },
    doStream: async (call) => {
      calls.push(call as Call);
      const turn = turns[calls.length - 1] ?? "done";
      const parts = [
        { type: "stream-start" as const, warnings: [] },
        ...partsOf(turn, calls.length - 1),
        { type: "finish" as const, finishReason: finishOf(turn) as "stop" | "tool-calls", usage },
      ];
      return { stream: convertArrayToReadableStream(parts) };
    },
  });
  return { model: model as unknown as MastraModelConfig, calls };
}
