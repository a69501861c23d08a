// The package as CommonJS, beside itself as a module: one implementation, whichever way it is loaded.
const assert = require("node:assert/strict");
const sdk = require("@pandastack/sdk");

main();

async function main() {
  const face = await import("@pandastack/sdk");
  assert.equal(face.Sandbox, sdk.Sandbox);
  assert.equal(face.default, sdk.default);
  const sandbox = await sdk.Sandbox.create();
  const failure = await sandbox.filesystem.read("/root/missing").catch((error) => error);
  assert.ok(failure instanceof face.NotFoundError, String(failure));
  const kernel = await sandbox.createCodeContext();
  await kernel.runCode("x = 41");
  assert.equal((await kernel.runCode("x + 1")).text, "42");
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
  await sandbox.filesystem.write("/root/bytes", bytes);
  assert.deepEqual([...(await sandbox.filesystem.readBytes("/root/bytes"))], [...bytes]);
  await sandbox.kill();
  console.log("require: as it should be");
}
