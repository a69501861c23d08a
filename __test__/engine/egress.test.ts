import type { Server, ServerResponse } from "node:http";
import { BadRequestError, Sandbox } from "@pandastack/sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestEngine } from "../support/engine.js";
import { listen } from "../support/tls-server.js";

let engine: TestEngine;
let server: Server;
let port: number;
let held: ServerResponse[] = [];

beforeAll(async () => {
  engine = await TestEngine.start();
  ({ server, port } = await listen((request, response) => {
    if (request.url === "/held") {
      held.push(response);
      response.write("held\n");
    } else if (request.url?.startsWith("/to?")) {
      response.writeHead(302, { location: decodeURIComponent(request.url.slice(4)) }).end();
    } else response.end("reached the host");
  }));
});
afterAll(async () => {
  server?.closeAllConnections();
  server?.close();
  await engine?.stop();
});

const config = () => ({ apiUrl: engine.apiUrl });
const PROXY = "--max-time 20 --noproxy '' -x http://127.0.0.1:3128";

/** What `curl` in a sandbox shows of an address. */
async function curl(sandbox: Sandbox, url: string, options = ""): Promise<string> {
  return (await sandbox.exec(`curl -sS -i ${PROXY} ${options} '${url}' 2>&1`)).stdout;
}
const own = (path = "/") => `http://127.0.0.1:${port}${path}`;

test("a private network is opened by name only, port by port, and closed again", async () => {
  await using sandbox = await Sandbox.create({ egress: { allow: [`127.0.0.1:${port}`] } }, config());
  expect(await curl(sandbox, own())).toContain("reached the host");
  expect(await curl(sandbox, own(), "-x socks5h://127.0.0.1:3128")).toContain("reached the host");
  expect(await curl(sandbox, `http://127.0.0.1:${port + 1}/`)).toContain("403 Forbidden by sandbox policy: loopback destination");
  expect(await curl(sandbox, "http://example.com/")).toContain("not allowed by the sandbox's egress rules");
  expect(await sandbox.setEgress({ allow: ["*"], deny: ["127.0.0.0/8"] })).toEqual({
    egress: { allow: ["*"], deny: ["127.0.0.0/8"] },
    secrets: {},
  });
  expect(await curl(sandbox, own())).toContain("denied by the sandbox's egress rules");
  await sandbox.setEgress("none");
  expect(await curl(sandbox, "http://example.com/")).toContain("403 Forbidden by sandbox policy: egress is off for this sandbox");
});

test("refused attempts and changes are events, a flood of them is counted", async () => {
  await using sandbox = await Sandbox.create({}, config());
  await sandbox.setEgress("none");
  await sandbox.exec(
    `for i in $(seq 100); do echo "http://host-$i.example/"; done | xargs -n 20 -P 2 curl -s ${PROXY} -o /dev/null; true`,
  );
  const events = await sandbox.events({ tail: 0 });
  expect(events[0]).toMatchObject({ type: "sandbox.running", sandbox_id: sandbox.id });
  expect(events[1]).toMatchObject({ type: "egress.changed", payload: { egress: "none" } });
  const denied = events.filter((event) => event.type === "egress.denied");
  expect(denied[0]?.payload).toMatchObject({ port: 80, reason: "egress is off for this sandbox" });
  expect(denied[0]?.payload?.host).toMatch(/^host-\d+\.example$/);
  expect(denied.length).toBeGreaterThanOrEqual(20);
  expect(denied.length).toBeLessThan(100);
  expect(await sandbox.events({ tail: 1 })).toEqual(events.slice(-1));
});

test("open connections that are no longer allowed are closed, the others go on", async () => {
  await using sandbox = await Sandbox.create({ egress: { allow: [`127.0.0.1:${port}`] } }, config());
  held = [];
  const outputs = ["", ""];
  const running = ["", "-p"].map((tunnelled, index) =>
    sandbox.execStream(`curl -sSN ${tunnelled} ${PROXY} ${own("/held")} 2>&1`, {
      onStdout: (text) => {
        outputs[index] += text;
      },
    }),
  );
  await expect.poll(() => held.length, { timeout: 20_000 }).toBe(2);
  await sandbox.setEgress({ allow: ["example.com", `127.0.0.1:${port}`] });
  for (const response of held) response.write("still\n");
  await expect.poll(() => outputs, { timeout: 20_000 }).toEqual(["held\nstill\n", "held\nstill\n"]);
  await sandbox.setEgress("none");
  // "Partial file", or "failure in receiving": curl was cut off.
  for (const exitCode of await Promise.all(running)) expect([18, 56]).toContain(exitCode);
});

test("copies inherit the rules, whoever creates one from a snapshot may say otherwise", async () => {
  await using sandbox = await Sandbox.create({ egress: "none" }, config());
  const snapshot = await sandbox.snapshot();
  await using fork = await sandbox.fork();
  await using copy = await Sandbox.create({ fromSnapshot: snapshot.id }, config());
  await using other = await Sandbox.create({ fromSnapshot: snapshot.id, egress: { allow: [`127.0.0.1:${port}`] } }, config());
  await sandbox.hibernate();
  expect((await sandbox.egress()).egress).toBe("none");
  await sandbox.wake();
  for (const one of [sandbox, fork, copy]) expect(await curl(one, own())).toContain("egress is off");
  expect(await curl(other, own())).toContain("reached the host");

  await other.hibernate();
  await other.setEgress("none");
  expect(await curl(other, own())).toContain("egress is off");
  await engine.kill("SIGKILL");
  await engine.serve();
  for (const one of [sandbox, fork, copy, other]) expect(await curl(one, own())).toContain("egress is off");
});

test("entries that make no sense are refused by name before anything exists", async () => {
  const before = (await Sandbox.list(config())).length;
  for (const [egress, named] of [
    [
      { allow: ["good.example", "10.1.2.3/16"] },
      "egress.allow: its address is not the first of the network, which is `10.1.0.0/16`: `10.1.2.3/16`",
    ],
    [{ deny: ["http://example.com"] }, "`http://example.com`"],
    [{ allow: ["example.com:99999"] }, "the port must be `*` or between 1 and 65535: `example.com:99999`"],
  ] as const) {
    const error = await Sandbox.create({ egress: { ...egress } as never }, config()).catch((error) => error);
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error.message).toContain(named);
  }
  expect((await Sandbox.list(config())).length).toBe(before);
});

test("a redirect to what is not allowed is not followed", async () => {
  await using sandbox = await Sandbox.create({ egress: { allow: ["*", `127.0.0.1:${port}`] } }, config());
  for (const target of [
    "http://169.254.169.254/latest/meta-data/",
    `http://127.0.0.1:${port + 1}/`,
    "http://[::1]/",
    "http://10.0.0.1/",
  ]) {
    const shown = await curl(sandbox, own(`/to?${encodeURIComponent(target)}`), "-L");
    expect(shown, target).toMatch(/302 Found[\s\S]*403 Forbidden by sandbox policy: (metadata service|loopback|private)/);
  }
});

test("three hundred connections that say nothing do not keep others out", async () => {
  await using sandbox = await Sandbox.create({ egress: { allow: [`127.0.0.1:${port}`] } }, config());
  const { stdout, stderr } = await sandbox.exec(
    `python3 - <<'PY'
import socket, urllib.request
slow = []
for _ in range(300):
    connection = socket.create_connection(("127.0.0.1", 3128), 10)
    connection.sendall(b"GET http://127.0.0.1:${port}/ HT")
    slow.append(connection)
opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": "http://127.0.0.1:3128"}))
import os; os.environ["no_proxy"] = ""; os.environ["NO_PROXY"] = ""
for _ in range(5):
    print(opener.open("${own()}", timeout=8).read().decode())
PY`,
    { env: { NO_PROXY: "", no_proxy: "" } },
  );
  expect(stdout, stderr).toBe("reached the host\n".repeat(5));
});

test("raw sockets, datagrams and names lead nowhere", async () => {
  await using sandbox = await Sandbox.create({}, config());
  const { stdout } = await sandbox.exec(
    `python3 - <<'PY'
import socket
def attempt(name, act):
    try:
        print(name, "WORKED", act())
    except OSError as error:
        print(name, "refused")
def datagram():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2)
    s.sendto(b"\\0" * 12, ("8.8.8.8", 53)); return s.recv(10)
def raw():
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP); s.settimeout(2)
    s.sendto(b"\\x08\\0\\xf7\\xff\\0\\0\\0\\0", ("8.8.8.8", 0)); return s.recv(10)
def packet():
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)); s.bind(("eth0", 0)); return 1
attempt("datagram", datagram); attempt("raw", raw); attempt("packet", packet)
attempt("name", lambda: socket.getaddrinfo("example.com", 80))
attempt("connection", lambda: socket.create_connection(("1.1.1.1", 80), 2))
PY`,
  );
  expect(stdout).toBe("datagram refused\nraw refused\npacket refused\nname refused\nconnection refused\n");
});

test("logs show what happened as lines, and go on with what happens", async () => {
  const sandbox = await Sandbox.create({ egress: "none" }, config());
  const lines: string[] = [];
  const following = (async () => {
    for await (const line of sandbox.logs({ follow: true })) {
      lines.push(line);
      if (line.includes("sandbox.paused")) return;
    }
  })();
  await expect.poll(() => lines[0]).toMatch(/^\S+Z sandbox\.running \{.*\}$/);
  await sandbox.pause();
  await following;
  await sandbox.resume();
  const whole: string[] = [];
  await expect
    .poll(async () => {
      whole.length = 0;
      for await (const line of sandbox.logs()) whole.push(line);
      return whole.map((line) => line.split(" ")[1]);
    })
    .toEqual(["sandbox.running", "sandbox.paused", "sandbox.resumed"]);
  expect(whole.slice(0, 2)).toEqual(lines);
  await sandbox.kill();
});
