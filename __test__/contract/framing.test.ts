// Streams of events in every framing, cut at every place: the output is exact, whatever the pieces.
import { CodeContext, InterruptedError } from "@pandastack/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { END, type Reply, ScriptedServer } from "../support/scripted-server.js";

let server: ScriptedServer;
beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.stop());

const STREAM = "POST /v1/sandboxes/sb/exec/stream";
const RUN = "POST /v1/sandboxes/sb/repl/sessions/ctx/run";
const out = (text: string) => `event: stdout\ndata: ${JSON.stringify({ chunk: text })}\n\n`;
const exit = (code: number) => `event: exit\ndata: {"exit_code":${code}}\n\n`;

async function run(maxPieces = Number.POSITIVE_INFINITY) {
  const seen: string[] = [];
  const exitCode = await server.sandbox().execStream("x", {
    onStdout: (text) => {
      if (seen.length < maxPieces) seen.push(text);
    },
  });
  return { exitCode, stdout: seen.join("") };
}

/** Numbers that look random and are the same every time. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Sends `bytes` as two pieces. */
const inTwo =
  (type: string, bytes: Buffer, cut: number): Reply =>
  async (response) => {
    response.writeHead(200, { "content-type": type }).flushHeaders();
    if (cut > 0) response.write(bytes.subarray(0, cut));
    await new Promise((resolve) => setTimeout(resolve, 2));
    response.end(bytes.subarray(cut));
  };

describe.each(["\n", "\r\n", "\r"])("fault 2.3: line end %j", (end) => {
  test("cut at every byte, also inside characters of four bytes", async () => {
    const bytes = Buffer.from((out("a😀é") + out("漢") + exit(3)).replaceAll("\n", end));
    await Promise.all(
      Array.from({ length: bytes.length }, async (_, cut) => {
        const own = await ScriptedServer.start();
        own.on(STREAM, inTwo("text/event-stream", bytes, cut));
        let stdout = "";
        const onStdout = (text: string) => {
          stdout += text;
        };
        const exitCode = await own.sandbox().execStream("x", { onStdout });
        expect([cut, exitCode, stdout]).toEqual([cut, 3, "a😀é漢"]);
        await own.stop();
      }),
    );
  });
});

test("a cell's stream cut at every byte", async () => {
  const bytes = Buffer.from(`${JSON.stringify({ type: "stdout", text: "a😀é" })}\n${JSON.stringify(END)}\n`);
  for (let cut = 0; cut < bytes.length; cut += 1) {
    server.on(RUN, inTwo("application/x-ndjson", bytes, cut));
    const { stdout } = await new CodeContext(server.client(), "sb", "ctx").runCode("x");
    expect([cut, stdout]).toEqual([cut, "a😀é"]);
  }
});

test("an event of 64 MiB takes as long as its bytes, not as their square", async () => {
  // Of the processor: how busy the machine is does not count.
  const seconds = async (mebibytes: number) => {
    const event = Buffer.from(out("x".repeat(mebibytes << 20)));
    server.on(STREAM, (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(event);
      response.end(exit(0));
    });
    const began = process.cpuUsage();
    const { exitCode, stdout } = await run();
    expect([exitCode, stdout.length]).toEqual([0, mebibytes << 20]);
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1_000_000;
  };
  await seconds(1);
  const small = Math.max(0.05, await seconds(8));
  // Eight times as much; sixty-four times as long would be the square.
  expect(await seconds(64)).toBeLessThan(small * 40);
}, 60_000);

describe("a stream that is cut at a random place", () => {
  const TEXTS = ["a", "é😀", "line\n", "漢字".repeat(50), "\u0000\u0007", '"\\'];

  /** Events, and where each of them ends. */
  function script(pick: (below: number) => number) {
    let text = "";
    const ends: [number, string][] = [[0, ""]];
    let stdout = "";
    for (let count = 1 + pick(12); count > 0; count -= 1) {
      const piece = TEXTS[pick(TEXTS.length)] ?? "";
      text += pick(4) === 0 ? `: ka\n\n${out(piece)}` : out(piece);
      stdout += piece;
      ends.push([Buffer.byteLength(text), stdout]);
    }
    return { bytes: Buffer.from(text), ends };
  }

  test.each([
    ["and broken", true],
    ["and closed", false],
  ])(
    "%s rejects with exactly what had arrived whole",
    async (_, broken) => {
      const rejections: unknown[] = [];
      const note = (error: unknown) => rejections.push(error);
      process.on("unhandledRejection", note);
      const pick = random(broken ? 7 : 11);
      const { bytes, ends } = script(pick);
      const sandbox = server.sandbox();
      const lane = async () => {
        for (let round = 0; round < 60; round += 1) {
          const cut = pick(bytes.length + 1);
          const id = `sb-${cut}`;
          server.on(STREAM.replace("/sb/", `/${id}/`), (response) => {
            response.writeHead(200, { "content-type": "text/event-stream" });
            if (broken) response.write(bytes.subarray(0, cut), () => response.destroy());
            else response.end(bytes.subarray(0, cut));
          });
          const { info } = sandbox;
          const cutSandbox = (await import("@pandastack/sdk")).Sandbox.fromInfo({ ...info, id }, server.client());
          const error = await cutSandbox.execStream("x").catch((error) => error);
          expect(error).toBeInstanceOf(InterruptedError);
          const whole = ends.filter(([end]) => end <= cut).at(-1)?.[1];
          // The blank line after an event's data says nothing more: without it the event is whole all the same, if the stream was closed.
          const almost = ends.find(([end]) => end > cut && end - cut <= 2)?.[1];
          expect([whole, broken ? whole : (almost ?? whole)]).toContain(error.stdout);
        }
      };
      await Promise.all(Array.from({ length: 8 }, lane));
      await new Promise((resolve) => setTimeout(resolve, 50));
      process.off("unhandledRejection", note);
      expect(rejections).toEqual([]);
    },
    60_000,
  );
});
