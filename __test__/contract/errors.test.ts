import { inspect } from "node:util";
import * as sdk from "@pandastack/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { json, type Reply, ScriptedServer } from "../support/scripted-server.js";

let server: ScriptedServer;
beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.stop());

const classes: Record<string, unknown> = { ...sdk };
const GET = "GET /v1/sandboxes/sb";
const text =
  (body: string, status: number): Reply =>
  (response) =>
    response.writeHead(status, { "content-type": "text/plain" }).end(body);
const failure = () =>
  server
    .client()
    .sandboxes.get("sb")
    .catch((error) => error);

test.each([
  [401, "AuthError", []],
  [403, "AuthError", []],
  [404, "NotFoundError", []],
  [400, "BadRequestError", []],
  [402, "BadRequestError", []],
  [409, "ConflictError", ["BadRequestError"]],
  [422, "BadRequestError", []],
  [429, "RateLimitError", ["BadRequestError"]],
  [500, "ServerError", []],
  [501, "NotSupportedError", ["ServerError"]],
  [507, "CapacityError", ["ServerError"]],
])("status %i is %s", async (status, name, parents) => {
  server.on(GET, json({ error: "why", request_id: "r1" }, status));
  const error = await failure();
  expect(error).toMatchObject({
    name,
    message: status === 401 ? expect.stringMatching(/^why; the API key came from/) : "why",
    statusCode: status,
    requestId: "r1",
    method: "GET",
    body: { error: "why", request_id: "r1" },
  });
  for (const parent of [name, ...parents, "PandaStackError"]) expect(error).toBeInstanceOf(classes[parent] as typeof Error);
  expect(error).toBeInstanceOf(Error);
  expect(error.response).toMatchObject({ status });
  expect(await error.response.json()).toMatchObject({ error: "why" });
});

test.each([
  [json({ error: { code: "x.y", message: "nested", request_id: "r", details: { retry_after_sec: 2 } } }, 400), "nested"],
  [json({ message: "message" }, 400), "message"],
  [json({ detail: "detail" }, 400), "detail"],
  [text("plain", 400), "plain"],
  [text("", 400), "PandaStack API returned HTTP 400"],
  [text("<html>", 502), "PandaStack API returned HTTP 502"],
  [text("404 page not found\n", 404), "not supported by this server"],
])("the message is found (%#)", async (reply, message) => {
  server.on(GET, reply);
  expect((await failure()).message).toBe(message);
});

test("a body that is no JSON is its text, and a large one is cut", async () => {
  server.on(GET, text("plain", 400));
  expect((await failure()).body).toBe("plain");
  server.on(GET, json({ error: "x".repeat(200_000) }, 400));
  const { body } = await failure();
  expect(body).toBeTypeOf("string");
  expect(body.length).toBeLessThanOrEqual(64 * 1024);
});

test("a refused key is told by its source, never by its value", async () => {
  server.on(GET, json({ error: "invalid api token" }, 401));
  const error = await failure();
  expect(error).toBeInstanceOf(sdk.AuthError);
  expect(error.message).toBe(
    "invalid api token; the API key came from the option `apiKey`: check that it is whole, not revoked, and of this server",
  );
  expect(inspect(error, { depth: 9 })).not.toContain("pds_test");
});

test("an address with a name and a password does not show them", async () => {
  server.on(GET, json({ error: "x" }, 400));
  const client = server.client({ apiUrl: server.url.replace("http://", "http://me:hidden@") });
  const error = await client.sandboxes.get("sb").catch((error) => error);
  expect(error.url).toBe(`${server.url}/v1/sandboxes/sb`);
  expect(inspect(error, { depth: 9 })).not.toContain("hidden");
});

test("a request id that a proxy doubled is cut", async () => {
  server.on(GET, json({ error: "x" }, 400, { "x-request-id": "one, two" }));
  expect((await failure()).requestId).toBe("one");
});

test.each([
  ["an HTML page", (response) => response.end("<html>login</html>")],
  ["cut JSON", (response) => response.end('{"id":"sb"')],
  ["nothing", (response) => response.writeHead(204).end()],
  ["another shape", (response) => response.end("[1]")],
  [
    "half an answer",
    (response) => {
      response.writeHead(200, { "content-length": "100" }).write("{");
      setTimeout(() => response.destroy(), 20);
    },
  ],
] as [string, Reply][])("fault 2.17: %s in a good answer is an error", async (_, reply) => {
  server.on(GET, reply);
  expect(await failure()).toBeInstanceOf(sdk.NetworkError);
});

test("calls that change nothing are repeated after a passing refusal, then the refusal is raised", async () => {
  server.on(GET, json({ error: "x" }, 502), (response) => response.destroy(), json({ id: "sb" }));
  expect((await server.client().sandboxes.get("sb")).id).toBe("sb");
  expect(server.requests).toHaveLength(3);
  server.on(GET, json({ error: "x" }, 503));
  expect(await failure()).toMatchObject({ name: "ServerError" });
  expect(server.requests).toHaveLength(6);
});

test("a refused connection is a NetworkError with its cause, and names the server", async () => {
  await server.stop();
  const error = await failure();
  expect(error.message).toContain(`\`${server.url}\``);
  expect(error).toBeInstanceOf(sdk.NetworkError);
  expect(error.message).toContain("cannot be reached");
  expect(error.cause).toBeInstanceOf(Error);
  server = await ScriptedServer.start();
});

test("a server that does not answer is a TimeoutError", async () => {
  server.on(GET, () => {});
  const error = await server
    .client({ timeoutMs: 80 })
    .sandboxes.get("sb")
    .catch((error) => error);
  expect(error).toMatchObject({ name: "TimeoutError", code: "timeout" });
  expect(error.message).toContain("GET /v1/sandboxes/sb");
});

test("a class can be told by a copy of the package", () => {
  const copy = Object.assign(Object.create(Error.prototype), {
    [Symbol.for("pandastack.error")]: ["NotFoundError", "PandaStackError"],
  });
  expect(copy instanceof sdk.NotFoundError).toBe(true);
  expect(copy instanceof sdk.PandaStackError).toBe(true);
  expect(copy instanceof sdk.AuthError).toBe(false);
  class Mine extends sdk.NotFoundError {}
  expect(copy instanceof Mine).toBe(false);
  expect(new Mine("x") instanceof sdk.NotFoundError).toBe(true);
});

test("errors can be made by hand as in 0.9.0", () => {
  expect(new sdk.PandaStackError("m", 404)).toMatchObject({ message: "m", statusCode: 404, name: "PandaStackError" });
  expect(new sdk.CommandError("m", 3, "o", "e")).toMatchObject({ exitCode: 3, stdout: "o", stderr: "e", code: "command" });
  expect(new sdk.TemplateBuildError("m", { id: "1" } as never)).toMatchObject({ build: { id: "1" }, code: "template_build" });
});

test("an error that a program makes has the answer that it was given, or none", async () => {
  const given = new Response("gone", { status: 404 });
  const error = new sdk.NotFoundError("mine", 404, given);
  expect(error.response).toBe(given);
  expect(error.statusCode).toBe(404);
  expect(new sdk.ServerError("mine", 500).response).toBeUndefined();
});
