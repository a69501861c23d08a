import { readdirSync, readFileSync, statSync } from "node:fs";
import type { IncomingHttpHeaders, Server } from "node:http";
import { join } from "node:path";
import { Sandbox } from "@pandastack/sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestEngine } from "../support/engine.js";
import { listen, TestAuthority } from "../support/tls-server.js";

const VALUE = "the-real-value-of-the-secret";
const authority = new TestAuthority();
const seen: { host: string; headers: IncomingHttpHeaders }[] = [];
let engine: TestEngine;
let server: Server;
let port: number;
let sandbox: Sandbox;

beforeAll(async () => {
  ({ server, port } = await listen((request, response) => {
    seen.push({ host: request.headers.host ?? "", headers: request.headers });
    if (request.url === "/away") response.writeHead(302, { location: `https://127.0.0.1:${port}/` }).end();
    else response.end("hello");
  }, authority));
  engine = await trusting(() => TestEngine.start());
  sandbox = await Sandbox.create(
    {
      egress: { allow: [`localhost:${port}`, `127.0.0.1:${port}`] },
      secrets: { API_KEY: { value: VALUE, hosts: ["localhost"] } },
    },
    { apiUrl: engine.apiUrl },
  );
  await sandbox.filesystem.write("/tmp/test-authority.pem", readFileSync(authority.file));
});
afterAll(async () => {
  server?.closeAllConnections();
  server?.close();
  await engine?.stop();
  authority.remove();
});

/** Starts an engine that trusts the authority of the server. */
async function trusting<T>(start: () => Promise<T>): Promise<T> {
  const before = process.env.SSL_CERT_FILE;
  process.env.SSL_CERT_FILE = authority.file;
  return start().finally(() => {
    if (before === undefined) delete process.env.SSL_CERT_FILE;
    else process.env.SSL_CERT_FILE = before;
  });
}

// The server is on the loopback of the engine's host, which programs would otherwise not ask the proxy for.
const env = { NO_PROXY: "", no_proxy: "" };

/** What the server saw of the requests of a command. */
async function sent(command: string, from: Sandbox = sandbox): Promise<{ output: string; keys: (string | undefined)[] }> {
  seen.length = 0;
  const { stdout, stderr } = await from.exec(command, { env });
  return { output: stdout + stderr, keys: seen.map(({ headers }) => headers["x-key"] as string | undefined) };
}
const PYTHON = (path: string) => `python3 -c '
import os, urllib.request
request = urllib.request.Request("https://localhost:${port}${path}", headers={"X-Key": os.environ["API_KEY"]})
print(urllib.request.urlopen(request, timeout=20).read().decode())'`;
const CURL = (url: string, options = "") => `curl -sS --max-time 20 ${options} -H "X-Key: $API_KEY" ${url}`;

test("curl, urllib and requests send the value to its host, and see a placeholder", async () => {
  const placeholder = (await sandbox.exec("printf %s $API_KEY")).stdout;
  expect(placeholder).toMatch(/^pandastack-secret-[0-9a-f]{32}$/);
  expect(await sent(CURL(`https://localhost:${port}/`))).toEqual({ output: "hello", keys: [VALUE] });
  expect(await sent(PYTHON("/"))).toEqual({ output: "hello\n", keys: [VALUE] });
  const requests = `python3 -c '
import os, requests
print(requests.get("https://localhost:${port}/", headers={"X-Key": os.environ["API_KEY"]}, timeout=20).text)' 2>&1`;
  const { output, keys } = await sent(requests);
  if (!output.includes("No module named 'requests'")) expect({ output, keys }).toEqual({ output: "hello\n", keys: [VALUE] });
  const context = await sandbox.createCodeContext();
  expect((await context.runCode("import os; os.environ['API_KEY']")).text).toBe(`'${placeholder}'`);
});

test("another host gets the placeholder, also by a redirect", async () => {
  const placeholder = (await sandbox.exec("printf %s $API_KEY")).stdout;
  const trust = "--cacert /tmp/test-authority.pem";
  expect((await sent(CURL(`https://127.0.0.1:${port}/`, trust))).keys).toEqual([placeholder]);
  expect((await sent(CURL(`https://localhost:${port}/away`, "-L -k"))).keys).toEqual([VALUE, placeholder]);
});

test("a request for another host on the connection of the right one gets nothing", async () => {
  const { output, keys } = await sent(CURL(`https://localhost:${port}/`, "-i -H 'Host: elsewhere.example'"));
  expect(output).toContain("421 the connection is to `localhost`, the request is for another host");
  expect(keys).toEqual([]);
});

test("the authority is trusted only where there are secrets, and only for their hosts", async () => {
  await using plain = await Sandbox.create({ egress: { allow: [`localhost:${port}`, "127.0.0.1"] } }, { apiUrl: engine.apiUrl });
  const { output } = await sent(`API_KEY=x ${CURL(`https://localhost:${port}/`)}`, plain);
  expect(output).toContain("certificate");
  expect((await plain.exec("grep -c BEGIN /etc/ssl/certs/ca-certificates.crt")).stdout).not.toBe(
    (await sandbox.exec("grep -c BEGIN /etc/ssl/certs/ca-certificates.crt")).stdout,
  );
});

test("copies have the secret, and a killed engine still knows it", async () => {
  await using fork = await sandbox.fork();
  expect((await sent(CURL(`https://localhost:${port}/`), fork)).keys).toEqual([VALUE]);
  await sandbox.hibernate();
  expect((await sent(CURL(`https://localhost:${port}/`))).keys).toEqual([VALUE]);
  await engine.kill("SIGKILL");
  await trusting(() => engine.serve());
  expect((await sent(PYTHON("/"))).keys).toEqual([VALUE]);
  expect((await sent(PYTHON("/"), fork)).keys).toEqual([VALUE]);
});

/** A file's bytes; none for what is no file, or went away since it was listed: sandboxes are made and ended meanwhile. */
function content(path: string): Buffer {
  try {
    return statSync(path).isFile() ? readFileSync(path) : Buffer.alloc(0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
}

test("the value is nowhere to be seen", async () => {
  const answers = JSON.stringify([(await sandbox.refresh()).info, await sandbox.egress(), await sandbox.events({ tail: 0 })]);
  expect(answers).not.toContain(VALUE);
  expect((await sandbox.egress()).secrets).toEqual({ API_KEY: ["localhost"] });
  const inside = await sandbox.exec(
    `cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c 'real-value-of'; grep -rlI 'real-value-of' /etc /tmp /root 2>/dev/null; true`,
  );
  expect(inside.stdout).toBe("0\n");
  for (const name of readdirSync(engine.home, { recursive: true, encoding: "utf8" })) {
    if (name.startsWith("templates") || name.startsWith("bin")) continue;
    expect(content(join(engine.home, name)).includes(VALUE), name).toBe(false);
  }
  for (const name of readdirSync(join(engine.home, "egress"))) {
    if (!name.endsWith(".pem")) expect(statSync(join(engine.home, "egress", name)).mode & 0o777, name).toBe(0o600);
  }
});

test("secrets that make no sense are refused without their value", async () => {
  const config = { apiUrl: engine.apiUrl };
  for (const secrets of [
    { API_KEY: { value: "hush-hush", hosts: ["*"] } },
    { HTTPS_PROXY: { value: "hush-hush", hosts: ["a.example"] } },
    { "a-b": { value: "hush-hush", hosts: ["a.example"] } },
    { API_KEY: { value: "hush\nhush", hosts: ["a.example"] } },
    { API_KEY: { value: "hush-hush", hosts: [] } },
  ]) {
    const error = await Sandbox.create({ secrets }, config).catch((error) => error);
    expect(error).toBeInstanceOf(Error);
    expect(error.message).not.toContain("hush");
  }
});
