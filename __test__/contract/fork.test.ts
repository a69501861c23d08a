import { NetworkError, ServerError } from "@pandastack/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { json, ScriptedServer } from "../support/scripted-server.js";

let server: ScriptedServer;
beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.stop());

const FORK = "POST /v1/sandboxes/sb/fork";
const TREE = "POST /v1/sandboxes/sb/fork-tree";

test.each([
  [{ children: ["a"] }],
  [{ sandbox: { id: "a" } }],
  [{ id: "a", status: "running" }],
  [{ children: [{ id: "a", guest_ip: "1.2.3.4" }] }],
])("understands the answer %o", async (answer) => {
  server.on(FORK, json(answer, 201));
  expect((await server.sandbox().fork()).id).toBe("a");
});

test.each([[["a", "b"]], [{ items: [{ id: "a" }, "b"] }], [{ sandboxes: ["a", "b"] }], [{ children: ["a", "b"] }]])(
  "understands the tree %o",
  async (answer) => {
    server.on(TREE, json(answer, 201));
    expect((await server.sandbox().forkTree({ count: 2 })).map(({ id }) => id)).toEqual(["a", "b"]);
  },
);

test("fault 2.40: a copy has its own labels and no address of its parent", async () => {
  server.on(FORK, json({ children: ["a"] }, 201));
  const copy = await server.sandbox().fork({ metadata: { owner: "me" } });
  expect(copy.info).toEqual({
    id: "a",
    template: "code-interpreter",
    cpu: 1,
    memory_mb: 512,
    status: "running",
    metadata: { owner: "me" },
  });
});

test("no copies are an error that says why", async () => {
  server.on(TREE, json({ children: [], errors: [{ index: 0, err: "no room" }] }, 201)).on(FORK, json({ children: null }, 201));
  const error = await server
    .sandbox()
    .forkTree({ count: 1 })
    .catch((error) => error);
  expect(error).toBeInstanceOf(ServerError);
  expect(error.message).toContain("no room");
  await expect(server.sandbox().fork()).rejects.toBeInstanceOf(ServerError);
  server.on(FORK, json({ children: [{}] }, 201));
  await expect(server.sandbox().fork()).rejects.toBeInstanceOf(NetworkError);
});

test.each([0, 17, 1.5])("refuses %d copies", async (count) => {
  await expect(server.sandbox().forkTree({ count })).rejects.toMatchObject({ name: "InvalidOptionError" });
  expect(server.requests).toHaveLength(0);
});

test("what promote leaves out or sends as null is empty", async () => {
  server.on("POST /v1/sandboxes/sb/promote", json({ winner: "sb", deleted: null }));
  expect(await server.sandbox().promote()).toEqual({ winner: "sb", deleted: [], failures: {} });
});
