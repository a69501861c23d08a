import { MastraLanguageModelV2Mock } from "@mastra/core/test-utils/llm-mock";

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

// What a model would do: a mistake, a look at the traceback, a repair.
const turns = [
  'import pandas as pd\nco2 = pd.read_csv("/root/co2.csv", comment="#")\nprint(len(co2), "years")\nco2["ppm"].iloc[-1] - co2["ppm"].iloc[0]',
  'rise = co2["mean"].iloc[-1] - co2["mean"].iloc[0]\nround(float(rise), 2)',
];

/** A model that needs no key: it says what the script above says, then repeats what it has read. */
export function scriptedModel() {
  let turn = 0;
  return new MastraLanguageModelV2Mock({
    doStream: async ({ prompt }) => ({ stream: ReadableStream.from(partsOf(turns[turn], turn++, prompt)) }),
  });
}

function partsOf(code, turn, prompt) {
  const start = { type: "stream-start", warnings: [] };
  if (code === undefined) {
    const words = [
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: `The scripted model has read ${JSON.stringify(lastResult(prompt))}.` },
      { type: "text-end", id: "t" },
    ];
    return [start, ...words, { type: "finish", finishReason: "stop", usage }];
  }
  const call = { type: "tool-call", toolCallId: `call-${turn}`, toolName: "run_code", input: JSON.stringify({ code }) };
  return [start, call, { type: "finish", finishReason: "tool-calls", usage }];
}

function lastResult(prompt) {
  const results = prompt.filter(({ role }) => role === "tool").flatMap(({ content }) => content);
  return results.at(-1)?.output.value;
}
