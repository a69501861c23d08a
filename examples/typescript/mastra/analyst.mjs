// A data analyst built with Mastra: its output streams while the code runs, its kernel keeps variables over all steps.
// Without OPENAI_API_KEY a scripted model plays the part, so that it runs anywhere.
import { fileURLToPath } from "node:url";
import { Agent } from "@mastra/core/agent";
import { runCodeTool } from "@pandastack/sdk/mastra";
import { scriptedModel } from "./model.mjs";

const data = fileURLToPath(new URL("../../data/mauna_loa_co2.csv", import.meta.url));

const runCode = runCodeTool();
try {
  const sandbox = await runCode.session.sandbox();
  await sandbox.filesystem.upload(data, "/root/co2.csv");

  const analyst = new Agent({
    id: "analyst",
    name: "analyst",
    instructions: "You are a careful data analyst. Compute with run_code, never guess. Read errors and repair your code.",
    model: process.env.OPENAI_API_KEY ? "openai/gpt-5.1" : scriptedModel(),
    tools: { run_code: runCode },
  });

  const stream = await analyst.stream(
    "In /root/co2.csv are annual CO2 means (comment lines start with #). By how much did CO2 rise?",
  );
  for await (const chunk of stream.fullStream) {
    if (chunk.type === "tool-call") console.log(`\n>>> ${chunk.payload.args.code.replaceAll("\n", "\n... ")}`);
    if (chunk.type === "data-stdout") process.stdout.write(chunk.data.text);
    if (chunk.type === "tool-result") console.log(`--- what the model reads:\n${chunk.payload.result.text}`);
  }
  console.log(`\n${await stream.text}`);
} finally {
  await runCode.close();
}
