// A data analyst built with the AI SDK: one tool, one kernel that keeps its variables over all steps.
// Without ANTHROPIC_API_KEY or OPENAI_API_KEY a scripted model plays the part, so that it runs anywhere.
import { fileURLToPath } from "node:url";
import { runCodeTool } from "@pandastack/sdk/ai";
import { generateText, stepCountIs } from "ai";
import { chooseModel } from "./model.mjs";

const data = fileURLToPath(new URL("../../data/mauna_loa_co2.csv", import.meta.url));

const runCode = runCodeTool({
  // The model reads a short text; charts and tables go to whoever shows them.
  onExecution: (execution) => {
    for (const { png } of execution.results)
      if (png) console.log(`(chart: ${png.length} characters of base64 for the user interface)`);
  },
});
try {
  const sandbox = await runCode.session.sandbox();
  await sandbox.filesystem.upload(data, "/root/co2.csv");

  const { text, steps } = await generateText({
    model: await chooseModel(),
    tools: { run_code: runCode },
    stopWhen: stepCountIs(10),
    system: "You are a careful data analyst. Compute with run_code, never guess. Read errors and repair your code.",
    prompt:
      "In /root/co2.csv are annual CO2 means (comment lines start with #). By how much did CO2 rise from 1959 to 2024? Draw it.",
  });

  for (const { toolCalls, toolResults } of steps) {
    for (const [index, call] of toolCalls.entries()) {
      console.log(`\n>>> ${call.input.code.trim().replaceAll("\n", "\n... ")}\n${toolResults[index]?.output.text}`);
    }
  }
  console.log(`\n${text}`);
} finally {
  await runCode.close();
}
