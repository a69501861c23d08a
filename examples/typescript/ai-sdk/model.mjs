import { MockLanguageModelV3 } from "ai/test";

/** A real model if there is a key for one and its package is installed, else the script below. */
export async function chooseModel() {
  if (process.env.ANTHROPIC_API_KEY) return (await import("@ai-sdk/anthropic")).anthropic("claude-sonnet-4-5");
  if (process.env.OPENAI_API_KEY) return (await import("@ai-sdk/openai")).openai("gpt-5.1");
  return scriptedModel();
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

// What a model would do: a mistake, a look at the traceback, a repair.
const turns = [
  call('import pandas as pd\nco2 = pd.read_csv("/root/co2.csv", comment="#")\nco2["ppm"].iloc[-1] - co2["ppm"].iloc[0]'),
  call('rise = co2["mean"].iloc[-1] - co2["mean"].iloc[0]\nround(float(rise), 2)'),
  call('import matplotlib.pyplot as plt\nplt.plot(co2["year"], co2["mean"])\nplt.show()'),
];

function call(code) {
  return { type: "tool-call", toolName: "run_code", input: JSON.stringify({ code }) };
}

function scriptedModel() {
  let turn = 0;
  return new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const next = turns[turn++];
      if (next) return answer({ ...next, toolCallId: `call-${turn}` }, "tool-calls");
      return answer({ type: "text", text: `The scripted model has read ${JSON.stringify(lastResultBut(prompt, 1))}.` }, "stop");
    },
  });
}

function answer(content, reason) {
  return { content: [content], finishReason: { unified: reason, raw: undefined }, usage, warnings: [] };
}

function lastResultBut(prompt, count) {
  const results = prompt.filter(({ role }) => role === "tool").flatMap(({ content }) => content);
  return results.at(-1 - count)?.output.value;
}
