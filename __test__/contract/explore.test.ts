import { AbortError, ExploreError, type Sandbox, TimeoutError } from "@pandastack/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { json, type Reply, ScriptedServer } from "../support/scripted-server.js";

let server: ScriptedServer;
let killed: string[];
let commands: string[];
beforeEach(async () => {
  server = await ScriptedServer.start();
  [killed, commands] = [[], []];
});
afterEach(() => server.stop());

/** Copies `a`, `b`, …; the command `N` ends with code N, and its output is its text; `hang` does not end. */
function withCopies(...ids: string[]): Sandbox {
  const children = ids.map((id) => ({ id, metadata: { fork_tree_id: "tree" } }));
  server.on("POST /v1/sandboxes/sb/fork-tree", json({ tree_id: "tree", children }, 201));
  for (const id of ids) {
    server.on(`POST /v1/sandboxes/${id}/exec`, ran);
    server.on(`DELETE /v1/sandboxes/${id}`, (response) => {
      killed.push(id);
      response.writeHead(204).end();
    });
    server.on(`POST /v1/sandboxes/${id}/promote`, json({ winner: id, tree_id: "tree", deleted: [], failures: {} }));
  }
  return server.sandbox();
}

const ran: Reply = (response, request) => {
  const { cmd } = JSON.parse(request.body.toString());
  commands.push(cmd);
  if (cmd === "hang") return;
  const exit_code = Number.parseInt(cmd.split("\n").at(-1), 10) || 0;
  const stdout = cmd.startsWith("find ") ? "/app/x\n/app/y z\n" : `out ${cmd}`;
  json({ stdout, stderr: "", exit_code })(response, request);
};

test("the best candidate is promoted and the others are deleted", async () => {
  const seen: string[] = [];
  const result = await withCopies("a", "b", "c").explore(["echo 1", { label: "two", cmd: "echo 22" }, "3"], {
    scoreFn: (_, outcome) => outcome.stdoutTail.length,
    onOutcome: ({ label }) => seen.push(label),
  });
  expect(result.winner?.id).toBe("b");
  expect(result.winnerOutcome).toMatchObject({ label: "two", ok: true, exitCode: 0, filesChanged: ["/app/x", "/app/y z"] });
  expect(result).toMatchObject({ treeId: "tree", errors: [], reapFailures: {} });
  expect(result.outcomes.map(({ label }) => label)[0]).toBe("two");
  expect([...killed].sort()).toEqual(["a", "c"]);
  expect([...seen].sort()).toEqual(["3", "echo 1", "two"]);
  const fork = server.seen("POST /v1/sandboxes/sb/fork-tree")[0];
  expect(JSON.parse(String(fork?.body))).toEqual({ count: 3, metadata: { explore: "1", explore_ttl: "600" } });
});

test("when nothing succeeds all copies are deleted", async () => {
  const exploration = withCopies("a", "b").explore(["7", { label: "throws", fn: () => Promise.reject(new Error("boom")) }]);
  const error = await exploration.catch((error) => error);
  expect(error).toBeInstanceOf(ExploreError);
  expect(error.message).toContain("7=7");
  expect(error.message).toContain("throws=boom");
  expect([...killed].sort()).toEqual(["a", "b"]);
});

test("fault 2.43: a callback that throws leaves no copy behind", async () => {
  const onOutcome = () => {
    throw new Error("no");
  };
  const result = await withCopies("a", "b").explore(["echo 1", "echo 2"], { onOutcome });
  expect(result.errors).toEqual(["onOutcome threw: no", "onOutcome threw: no"]);
  expect(killed).toHaveLength(1);
  const select = () => {
    throw new Error("cannot choose");
  };
  killed = [];
  await expect(withCopies("a", "b").explore(["echo 1", "echo 2"], { select })).rejects.toThrow("cannot choose");
  expect([...killed].sort()).toEqual(["a", "b"]);
});

test("fault 2.43: the environment holds for the whole of a command and its names are checked", async () => {
  await withCopies("a").explore([{ label: "x", cmd: "echo $A; echo $A", env: { A: "it's" } }], { captureFiles: false });
  expect(commands[0]).toBe("export A='it'\\''s'\necho $A; echo $A");
  const wrong = withCopies("a").explore([{ label: "x", cmd: "true", env: { "A;rm": "1" } }], { captureFiles: false });
  await expect(wrong).rejects.toThrow("not a name of an environment variable");
});

test("fault 2.43: each exploration marks its time with a file of its own", async () => {
  const sandbox = withCopies("a");
  await sandbox.explore(["echo 1"]);
  await sandbox.explore(["echo 1"]);
  const markers = commands.filter((command) => command.startsWith("touch "));
  expect(new Set(markers).size).toBe(2);
});

test("the caller's candidates and outcomes are counted", async () => {
  const sandbox = withCopies("a");
  await expect(sandbox.explore([])).rejects.toThrow("explore: no candidates");
  await expect(sandbox.explore(Array(17).fill("x"))).rejects.toThrow("exceeds the 16-branch");
  expect(server.requests).toHaveLength(0);
  const { errors } = await sandbox.explore(["echo 1", "echo 2"]);
  expect(errors[0]).toContain("requested 2 branches, got 1");
});

test("a time limit and a signal end it and delete all copies", async () => {
  const options = { captureFiles: false };
  await expect(withCopies("a", "b").explore(["hang", "hang"], { ...options, timeoutMs: 200 })).rejects.toBeInstanceOf(
    TimeoutError,
  );
  expect([...killed].sort()).toEqual(["a", "b"]);
  killed = [];
  const controller = new AbortController();
  const exploration = withCopies("a", "b").explore(["hang", "hang"], { ...options, signal: controller.signal });
  const failed = exploration.catch((error: unknown) => error);
  await server.until(() => commands.length === 4);
  controller.abort("enough");
  expect(await failed).toBeInstanceOf(AbortError);
  expect(await failed).toMatchObject({ cause: "enough" });
  expect([...killed].sort()).toEqual(["a", "b"]);
});
