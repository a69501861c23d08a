import { BadRequestError, NotFoundError, Sandbox } from "@pandastack/sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestEngine } from "../support/engine.js";
import { request } from "../support/unix-request.js";

let engine: TestEngine;
let sandbox: Sandbox;

beforeAll(async () => {
  engine = await TestEngine.start();
  sandbox = await Sandbox.create({}, { apiUrl: engine.apiUrl });
});
afterAll(async () => {
  await engine?.stop();
});

const call = (method: string, path: string, body?: string | Buffer) => request(engine.socket, method, path, body);

test("an unknown template is refused and leaves no sandbox", async () => {
  await expect(Sandbox.create({ template: "no-such" }, { apiUrl: engine.apiUrl })).rejects.toThrow(/no-such/);
  expect(await Sandbox.list({ apiUrl: engine.apiUrl })).toHaveLength(1);
});

const refusals: [string, string, string, string | undefined, number, RegExp][] = [
  ["a negative ttl", "POST", "/v1/sandboxes", '{"ttl_seconds":-1}', 400, /ttl_seconds/],
  ["metadata that is not strings", "POST", "/v1/sandboxes", '{"metadata":{"a":1}}', 400, /metadata|string/],
  ["a body that is not JSON", "POST", "/v1/sandboxes", "{", 400, /JSON|json/],
  ["a body that is no object", "POST", "/v1/sandboxes", "[1]", 400, /object/],
  ["an id that is not one", "GET", "/v1/sandboxes/not-an-id", undefined, 404, /not-an-id/],
  ["an unknown id", "GET", "/v1/sandboxes/00000000-0000-4000-8000-000000000000", undefined, 404, /not found/],
  ["an unknown path", "GET", "/v1/nothing", undefined, 404, /./],
  ["a function of the distributed engines", "GET", "/v1/functions", undefined, 501, /not supported by the local engine/],
  ["a wrong method", "PUT", "/v1/sandboxes", undefined, 405, /./],
];
for (const [name, method, path, body, status, text] of refusals) {
  test(`${name} is answered with ${status} and JSON`, async () => {
    const answer = await call(method, path, body);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.body).error).toMatch(text);
    expect(answer.headers["x-request-id"]).toBeTruthy();
  });
}

test("relative and missing paths", async () => {
  await expect(sandbox.filesystem.read("relative/path")).rejects.toBeInstanceOf(BadRequestError);
  await expect(sandbox.filesystem.read("/missing")).rejects.toBeInstanceOf(NotFoundError);
  await expect(sandbox.filesystem.list("/missing")).rejects.toBeInstanceOf(NotFoundError);
});

test("empty code, too much code, code that is not UTF-8", async () => {
  const context = await sandbox.createCodeContext();
  const runPath = `/v1/sandboxes/${sandbox.id}/repl/sessions/${context.id}/run`;
  expect(await call("POST", runPath, '{"code":""}')).toMatchObject({
    status: 400,
    body: expect.stringContaining("code required"),
  });
  const huge = await call("POST", runPath, JSON.stringify({ code: "#".repeat(200 << 20) }));
  expect(huge.status).toBe(413);
  const invalid = await call(
    "POST",
    runPath,
    Buffer.concat([Buffer.from('{"code":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]),
  );
  expect(invalid.status).toBe(400);
  expect((await context.runCode("1 + 1")).text).toBe("2");
  await context.close();
});

test("an empty command and one with NUL", async () => {
  expect((await call("POST", `/v1/sandboxes/${sandbox.id}/exec`, '{"cmd":""}')).status).toBe(400);
  expect((await call("POST", `/v1/sandboxes/${sandbox.id}/exec`, '{"cmd":"echo \\u0000"}')).status).toBe(400);
  expect((await sandbox.exec("echo fine")).stdout).toBe("fine\n");
});

test("a socket that a dead daemon left is no obstacle", async () => {
  await engine.kill("SIGKILL");
  await engine.serve();
  expect((await sandbox.exec("echo back")).stdout).toBe("back\n");
});
