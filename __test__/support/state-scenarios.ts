// What snapshots and forks promise, against any engine: one of root, or one of an ordinary user.
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, type CodeContext, Sandbox } from "@pandastack/sdk";
import { expect } from "vitest";

const ROUNDS = 3;

/** The printed output of a cell, which must not fail. */
async function printed(context: CodeContext, code: string): Promise<string> {
  const { stdout, error } = await context.runCode(code);
  expect(error).toBeUndefined();
  return stdout.trim();
}

/** Looks until what it finds is as wanted. */
async function until(look: () => Promise<boolean>): Promise<void> {
  for (let count = 0; count < 200; count++) {
    if (await look()) return;
    await sleep(50);
  }
  throw new Error("what was waited for did not come");
}

/**
 * Snapshot, a sandbox made from it, a change, the next snapshot, and so on. `check` gets each copy with the number of its round, and is to
 * change it. Every sandbox but the last copy is deleted, and every snapshot.
 */
async function generations(
  client: Client,
  parent: Sandbox,
  check: (copy: Sandbox, round: number) => Promise<void>,
): Promise<void> {
  let sandbox = parent;
  for (let round = 1; round <= ROUNDS; round++) {
    const snapshot = await sandbox.snapshot();
    const copy = await Sandbox.create({ fromSnapshot: snapshot.id }, client);
    await check(copy, round);
    await sandbox.kill();
    await client.snapshots.delete(snapshot.id);
    sandbox = copy;
  }
  await sandbox.kill();
}

/** Generations that hold `megabytes` of random numbers in memory. */
export async function generationsWithHeap(client: Client, megabytes: number): Promise<void> {
  const parent = await Sandbox.create({ limits: { memoryMb: 2048 } }, client);
  const context = await parent.createCodeContext();
  const fill = `import numpy as np, zlib
heap = np.random.default_rng(7).integers(0, 256, ${megabytes} << 20, dtype=np.uint8)
print(zlib.crc32(heap))`;
  let checksum = await printed(context, fill);
  await parent.exec("head -c 30000000 /dev/urandom > /root/big; sha256sum /root/big > /root/sum", { check: true });
  await generations(client, parent, async (copy, round) => {
    const inherited = await copy.createCodeContext();
    expect(await printed(inherited, "print(len(heap), zlib.crc32(heap))")).toBe(`${megabytes << 20} ${checksum}`);
    await copy.exec("sha256sum --check --quiet /root/sum", { check: true });
    checksum = await printed(inherited, `heap[${round}::4096] = ${round}\nprint(zlib.crc32(heap))`);
  });
}

/** Generations in which a process in the background counts on, in each copy from where it was. */
export async function generationsWithBackgroundProcess(client: Client): Promise<void> {
  const parent = await Sandbox.create({}, client);
  const count = "i=0; while :; do i=$((i+1)); echo $i > /root/count.new; mv /root/count.new /root/count; sleep 0.02; done";
  await parent.exec(`nohup bash -c '${count}' >/dev/null 2>&1 & echo $! > /root/pid`, { check: true });
  const counted = async (sandbox: Sandbox) => Number(await sandbox.filesystem.read("/root/count").catch(() => "0"));
  await until(async () => (await counted(parent)) > 0);
  let before = await counted(parent);
  await generations(client, parent, async (copy) => {
    const found = await counted(copy);
    expect(found).toBeGreaterThanOrEqual(before);
    await until(async () => (await counted(copy)) > found + 3);
    await copy.exec('kill -0 "$(cat /root/pid)"', { check: true });
    before = await counted(copy);
  });
}

/** Generations while a command of the parent prints: that goes on to its end, and in the copy nothing of it is left. */
export async function generationsWithCommandInFlight(client: Client): Promise<void> {
  const lines = 60;
  const start = async (sandbox: Sandbox) => {
    let text = "";
    let isUnderWay = () => {};
    const underWay = new Promise<void>((resolve) => {
      isUnderWay = resolve;
    });
    const code = sandbox.execStream(`for i in $(seq ${lines}); do echo $i; echo $i > /root/reached; sleep 0.03; done`, {
      onStdout: (chunk) => {
        text += chunk;
        isUnderWay();
      },
    });
    await underWay;
    return async () => {
      expect(await code).toBe(0);
      expect(text).toBe(Array.from({ length: lines }, (_, index) => `${index + 1}\n`).join(""));
    };
  };
  let sandbox = await Sandbox.create({}, client);
  const context = await sandbox.createCodeContext();
  await context.runCode("rounds = 0");
  for (let round = 1; round <= ROUNDS; round++) {
    const ended = await start(sandbox);
    const snapshot = await sandbox.snapshot();
    const copy = await Sandbox.create({ fromSnapshot: snapshot.id }, client);
    const inherited = await copy.createCodeContext();
    expect(await printed(inherited, "rounds += 1; print(rounds)")).toBe(String(round));
    expect(Number(await copy.filesystem.read("/root/reached"))).toBeLessThan(lines);
    await until(async () => (await copy.exec("pgrep -c sleep; true")).stdout.trim() === "0");
    await ended();
    expect((await sandbox.filesystem.read("/root/reached")).trim()).toBe(String(lines));
    await sandbox.kill();
    await client.snapshots.delete(snapshot.id);
    sandbox = copy;
  }
  await sandbox.kill();
}

/** Collects what is printed, and the longest time in milliseconds between two pieces of it. */
class Printed {
  text = "";
  longestGapMs = 0;
  private last: number | undefined;

  readonly take = (chunk: string): void => {
    const now = performance.now();
    if (this.last !== undefined) this.longestGapMs = Math.max(this.longestGapMs, now - this.last);
    this.last = now;
    this.text += chunk;
  };
}

/** A fork tree while a cell and a command of the parent print every 10 ms. Returns the longest gap of each, in milliseconds. */
export async function forkWhilePrinting(client: Client): Promise<{ cellGapMs: number; commandGapMs: number }> {
  const parent = await Sandbox.create({}, client);
  // Created first, so that in a child this one is the inherited one that is handed over.
  const state = await parent.createCodeContext();
  const printing = await parent.createCodeContext();
  const setup = `import asyncio, random, numpy as np
x = {"deep": [40, 2]}
file = open("/root/open", "w+"); file.write("kept"); file.flush()
async def answer(reader, writer):
    writer.write(b"hello"); await writer.drain(); writer.close()
server = await asyncio.start_server(answer, "127.0.0.1", 8123)`;
  expect((await state.runCode(setup)).error).toBeUndefined();

  const [ofCell, ofCommand] = [new Printed(), new Printed()];
  const cell = printing.runCode(
    "import os, time\nn = 0\nwhile not os.path.exists('/root/stop'):\n    print(n, flush=True); n += 1\n    time.sleep(0.01)",
    { onStdout: ofCell.take },
  );
  const command = parent.execStream("n=0; until [ -e /root/stop ]; do echo $n; n=$((n + 1)); sleep 0.01; done", {
    onStdout: ofCommand.take,
  });
  await until(async () => ofCell.text.includes("\n20\n") && ofCommand.text.includes("\n5\n"));
  const children = await parent.forkTree({ count: 2 });

  const draw = `print(random.random(), np.random.rand(), sum(x["deep"]), open("/root/open").read(), file.tell(), server.is_serving())`;
  const drawn = [await printed(state, draw)];
  for (const child of children) {
    drawn.push(await printed(await child.createCodeContext(), draw));
    const { stdout } = await child.exec("exec 5<>/dev/tcp/127.0.0.1/8123; cat <&5; echo; hostname");
    expect(stdout).toBe(`hello\n${child.id}\n`);
  }
  const words = drawn.map((line) => line.split(" "));
  for (const line of words) expect(line.slice(2)).toEqual(["42", "kept", "4", "True"]);
  expect(new Set(words.map(([number]) => number)).size, "random.random() repeats").toBe(3);
  expect(new Set(words.map(([, number]) => number)).size, "np.random.rand() repeats").toBe(3);

  const before = [ofCell.text, ofCommand.text].map((text) => text.length);
  await until(async () => ofCell.text.length > (before[0] ?? 0) && ofCommand.text.length > (before[1] ?? 0));
  await parent.exec("touch /root/stop", { check: true });
  expect((await cell).stdout).toBe(ofCell.text);
  expect(await command).toBe(0);
  for (const { text } of [ofCell, ofCommand]) {
    expect(text).toBe(Array.from({ length: text.split("\n").length - 1 }, (_, index) => `${index}\n`).join(""));
  }
  await Promise.all([parent, ...children].map((sandbox) => sandbox.kill()));
  return { cellGapMs: Math.round(ofCell.longestGapMs), commandGapMs: Math.round(ofCommand.longestGapMs) };
}
