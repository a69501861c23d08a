import { Sandbox } from "@pandastack/sdk";

export const dynamic = "force-dynamic";

export async function GET() {
  const sandbox = await Sandbox.create();
  try {
    const kernel = await sandbox.createCodeContext();
    return new Response(`the kernel says ${(await kernel.runCode("6 * 7")).text}`);
  } finally {
    await sandbox.kill();
  }
}
