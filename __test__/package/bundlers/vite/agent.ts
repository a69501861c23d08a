import { Sandbox } from "@pandastack/sdk";
import { runCodeTool } from "@pandastack/sdk/ai";

async function main(): Promise<void> {
  const sandbox = await Sandbox.create();
  const kernel = await sandbox.createCodeContext();
  console.log(`the kernel says ${(await kernel.runCode("6 * 7")).text}`);
  await kernel.close();
  await sandbox.kill();
  await runCodeTool().close();
}

main();
