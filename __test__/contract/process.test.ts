import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { END, json, ndjson, ScriptedServer } from "../support/scripted-server.js";

let server: ScriptedServer;
let home: string;
beforeEach(async () => {
  server = await ScriptedServer.start();
  home = mkdtempSync(join(tmpdir(), "pandastack-home-"));
});
afterEach(async () => {
  await server.stop();
  rmSync(home, { recursive: true, force: true });
});

const root = new URL("../..", import.meta.url).pathname;
const INFO = { id: "sb", template: "t", cpu: 1, memory_mb: 1, status: "running" };

/** Runs a program in a process without any setting; `sdk` is the package. */
function node(program: string, env: Record<string, string> = {}, esm = false) {
  const load = esm
    ? `import * as sdk from ${JSON.stringify(`${root}dist/index.mjs`)};`
    : `const sdk = require(${JSON.stringify(root)});`;
  const args = [...(esm ? ["--input-type=module"] : []), "-e", `${load}\n${program}`];
  const child = spawn(process.execPath, args, { env: { PATH: process.env.PATH ?? "", HOME: home, ...env }, timeout: 20_000 });
  let output = "";
  child.stdout.on("data", (data) => {
    output += data;
  });
  child.stderr.on("data", (data) => {
    output += data;
  });
  return new Promise<{ code: number | null; output: string }>((resolve) => {
    child.on("close", (code) => resolve({ code, output: output.trim() }));
  });
}

const setUp = () => {
  server
    .on("POST /v1/sandboxes", json(INFO, 201))
    .on("POST /v1/sandboxes/sb/repl/sessions", json({ id: "ctx" }, 201))
    .on("POST /v1/sandboxes/sb/repl/sessions/ctx/run", ndjson([{ type: "stdout", text: "42" }, END]));
  return { PANDASTACK_API: server.url, PANDASTACK_API_KEY: "pds_x" };
};

const RUN = `(async () => {
  const sandbox = await sdk.Sandbox.create();
  const context = await sandbox.createCodeContext();
  console.log((await context.runCode("x")).stdout);
})()`;

test("fault 4.26: a program that closes nothing ends by itself", async () => {
  expect(await node(RUN, setUp())).toEqual({ code: 0, output: "42" });
  expect(await node(RUN, setUp(), true)).toEqual({ code: 0, output: "42" });
});

test("a program ends by itself whatever became of its calls", async () => {
  const STREAM = "POST /v1/sandboxes/sb/exec/stream";
  const piece = 'event: stdout\ndata: {"chunk":"1"}\n\n';
  server
    .on(STREAM, async (response, request) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(piece, () => {
        if (request.body.includes("cut")) response.destroy();
        if (request.body.includes("reset")) response.socket?.resetAndDestroy();
      });
    })
    .on("POST /v1/sandboxes/sb/exec", (response) => response.socket?.resetAndDestroy())
    .on("GET /v1/sandboxes/sb/fs", () => {});
  const program = `(async () => {
    const sandbox = sdk.Sandbox.fromInfo({ id: "sb" }, new sdk.Client());
    const names = [];
    const note = (error) => names.push(error.name);
    await sandbox.execStream("cut").catch(note);
    await sandbox.execStream("reset").catch(note);
    await sandbox.exec("x").catch(note);
    await sandbox.filesystem.read("/a", { signal: AbortSignal.timeout(50) }).catch(note);
    await sandbox.execStream("open", { onStdout: () => { throw new RangeError("mine") } }).catch(note);
    for await (const _ of await sandbox.commands.start("open")) break;
    console.log(names.join());
  })()`;
  expect(await node(program, setUp())).toEqual({
    code: 0,
    output: "InterruptedError,InterruptedError,NetworkError,AbortError,RangeError",
  });
});

test("a program that ends during a stream ends with its own code", async () => {
  server.on("POST /v1/sandboxes/sb/exec/stream", (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('event: stdout\ndata: {"chunk":"1"}\n\n');
  });
  const program = `sdk.Sandbox.fromInfo({ id: "sb" }, new sdk.Client()).execStream("x", { onStdout: () => process.exit(7) })`;
  expect(await node(program, setUp())).toEqual({ code: 7, output: "" });
});

test("a worker can be ended during a stream", async () => {
  server.on("POST /v1/sandboxes/sb/exec/stream", (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('event: stdout\ndata: {"chunk":"1"}\n\n');
  });
  const inWorker = `const sdk = require(${JSON.stringify(root)});
    sdk.Sandbox.fromInfo({ id: "sb" }, new sdk.Client()).execStream("x", { onStdout: () => require("worker_threads").parentPort.postMessage(1) })`;
  const program = `const { Worker } = require("worker_threads");
    (async () => { for (let round = 0; round < 5; round += 1) {
      const worker = new Worker(${JSON.stringify(inWorker)}, { eval: true });
      await new Promise((resolve, reject) => { worker.on("message", resolve); worker.on("error", reject); });
      await worker.terminate();
    } console.log("done"); })()`;
  expect(await node(program, setUp())).toEqual({ code: 0, output: "done" });
});

test("both ways of loading give the same classes", async () => {
  const program = `import { createRequire } from "node:module";
    const required = createRequire(import.meta.url)(${JSON.stringify(root)});
    console.log(sdk.default === required.default, sdk.default === sdk.Client, Object.keys(required).every((name) => sdk[name] === required[name]))`;
  expect((await node(program, {}, true)).output).toBe("true true true");
});

test("an error loads no fetch: it is also made where that cannot be loaded", async () => {
  const program = `sdk.Sandbox.fromInfo({ id: "sb" }, new sdk.Client()).exec("").catch((error) => console.log(error.name))`;
  expect(await node(program, { ...setUp(), NODE_OPTIONS: "--jitless" })).toMatchObject({
    code: 0,
    output: expect.stringContaining("InvalidOptionError"),
  });
});

describe("without a server and a key", () => {
  test("the error names both ways out", async () => {
    const program = `sdk.Sandbox.create().catch((error) => console.log(error.name, error.message))`;
    const { output } = await node(program, { PANDASTACK_API: "", PANDASTACK_API_KEY: "" });
    expect(output).toMatch(/^AuthError .*PANDASTACK_API_KEY.*PANDASTACK_API=local/);
  });

  test("a client can be made: nothing is sent yet", async () => {
    const { output } = await node("const client = new sdk.Client(); console.log(client.apiUrl, client.apiKey, client.timeoutMs)");
    expect(output).toBe("https://api.pandastack.ai undefined 30000");
  });
});

describe("the local engine", () => {
  const env = () => ({ PANDASTACK_API: "local", PANDASTACK_HOME: home, PANDASTACK_BINARY: join(home, "pandastack") });
  const CREATE = `sdk.Sandbox.create().then((sandbox) => console.log(sandbox.id), (error) => console.log(error.name, error.message))`;

  function binary(script: string): void {
    writeFileSync(join(home, "pandastack"), `#!${process.execPath}\n${script}`);
    chmodSync(join(home, "pandastack"), 0o755);
  }

  test("is started once, however many programs need it at the same time", async () => {
    binary(`
      const fs = require("fs"), home = process.env.PANDASTACK_HOME;
      fs.appendFileSync(home + "/starts", process.argv.slice(2).join(" ") + "\\n");
      require("http").createServer((request, response) => response.writeHead(201).end('${JSON.stringify(INFO)}')).listen(home + "/engine.sock");
      setTimeout(() => process.exit(), 4000);`);
    const outcomes = await Promise.all([1, 2, 3].map(() => node(CREATE, env())));
    expect(outcomes.map(({ output }) => output)).toEqual(["sb", "sb", "sb"]);
    expect(readFileSync(join(home, "starts"), "utf8")).toBe("serve --exit-when-idle 1800\n");
  });

  test("that does not start tells why", async () => {
    binary('console.error("no template: run `pandastack engine setup`"); process.exit(1)');
    const { output } = await node(CREATE, env());
    expect(output).toMatch(/^EngineError .*no template: run `pandastack engine setup`/);
  });

  test("without a binary says what to do", async () => {
    const { output } = await node(CREATE, env());
    expect(output).toMatch(/^EngineError .*does not exist/);
    expect(existsSync(join(home, "engine.sock"))).toBe(false);
  });

  test.each(["ftp://x", "localhost:8080", "unix:relative"])("%s is no server", async (address) => {
    const { output } = await node("try { new sdk.Client() } catch (error) { console.log(error.name, error.message) }", {
      PANDASTACK_API: address,
    });
    expect(output).toMatch(/^InvalidOptionError /);
  });
});

test("fault 4.25: a worker's own environment counts, though the process has another", async () => {
  server.on("GET /v1/me", json({ user_id: "u" }));
  const work = `process.env.PANDASTACK_API = ${JSON.stringify(server.url)};
    process.env.PANDASTACK_API_KEY = "pds_of_the_worker";
    const { Client } = require(${JSON.stringify(root)});
    new Client().me().then(() => console.log("ok"), (error) => console.log(error.message))`;
  const program = `new (require("node:worker_threads").Worker)(${JSON.stringify(work)}, { eval: true })`;
  const env = { PANDASTACK_API: "http://elsewhere.example", PANDASTACK_API_KEY: "pds_of_the_process" };
  expect(await node(program, env)).toEqual({ code: 0, output: "ok" });
  expect(server.requests[0]?.headers.authorization).toBe("Bearer pds_of_the_worker");
});

describe("a listener for retries", () => {
  const LISTENING = "new sdk.Client({ onRetry: () => console.log('again'), logger: {} })";

  test("does not keep the process alive", async () => {
    server.on("GET /v1/volumes", json({ error: "slow down" }, 429, { "retry-after": "0" }), json([]));
    const { code, output } = await node(`${LISTENING}.volumes.list().then((list) => console.log(list.length))`, setUp());
    expect(code).toBe(0);
    expect(output.split("\n").sort()).toEqual(["0", "again"]);
  });

  test("fault 4.26: survives the end of its worker", async () => {
    server.on("GET /v1/volumes", json({ error: "slow down" }, 429, { "retry-after": "0.01" }));
    const program = `
      const { Worker } = require("node:worker_threads");
      const work = \`const sdk = require(\${JSON.stringify(${JSON.stringify(root)})});
        const client = new sdk.Client({ onRetry: () => {} });
        (async () => { for (;;) await Promise.allSettled([1, 2, 3].map(() => client.volumes.list())); })();
        require("node:worker_threads").parentPort.postMessage("ready");\`;
      (async () => {
        for (let round = 0; round < 8; round += 1) {
          const worker = new Worker(work, { eval: true });
          await new Promise((resolve) => worker.once("message", resolve));
          await new Promise((resolve) => setTimeout(resolve, 60));
          await worker.terminate();
        }
        console.log("alive");
      })();`;
    expect(await node(program, setUp())).toEqual({ code: 0, output: "alive" });
  });
});
