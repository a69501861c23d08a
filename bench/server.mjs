// A server that answers at once, so that what is measured is the client. Runs as a child process; sends its port to its parent.
import { createServer } from "node:http";

const info = JSON.stringify({
  id: "11111111-1111-4111-8111-111111111111",
  template: "code-interpreter",
  cpu: 1,
  memory_mb: 512,
  status: "running",
});
const block = Buffer.alloc(1 << 20, "panda");

const routes = [
  ["POST", /\/sandboxes$/, (_, response) => json(response, 201, info)],
  ["POST", /\/exec\/stream$/, streamEvents],
  ["POST", /\/exec$/, (_, response) => json(response, 200, '{"stdout":"","stderr":"","exit_code":0}')],
  ["GET", /\/fs\?/, sendFile],
  ["PUT", /\/fs\?/, receiveFile],
  ["GET", /\/sandboxes\/[^/]+$/, (_, response) => json(response, 200, info)],
];

function json(response, status, body) {
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) }).end(body);
}

/** As many events as the command is a number. */
async function streamEvents(request, response) {
  let body = "";
  for await (const chunk of request) body += chunk;
  const count = Number(JSON.parse(body).cmd);
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  const event = 'event: stdout\ndata: {"chunk":"a line of ordinary length, as programs print them\\n"}\n\n';
  for (let sent = 0; sent < count; sent += 100) {
    if (!response.write(event.repeat(Math.min(100, count - sent))))
      await new Promise((resolve) => response.once("drain", resolve));
  }
  response.end('event: exit\ndata: {"exit_code":0}\n\n');
}

/** As many MiB as the name of the file says. */
async function sendFile(request, response) {
  const mebibytes = Number(new URL(request.url, "http://local").searchParams.get("path").match(/\d+/)[0]);
  response.writeHead(200, { "content-type": "application/octet-stream", "content-length": mebibytes << 20 });
  for (let sent = 0; sent < mebibytes; sent += 1) {
    if (!response.write(block)) await new Promise((resolve) => response.once("drain", resolve));
  }
  response.end();
}

/** With a listener, not a loop: what is measured is the client. */
function receiveFile(request, response) {
  let bytes = 0;
  request.on("data", (chunk) => {
    bytes += chunk.length;
  });
  request.on("end", () => json(response, 200, JSON.stringify({ path: "/root/file", bytes })));
}

const server = createServer((request, response) => {
  const route = routes.find(([method, pattern]) => method === request.method && pattern.test(request.url));
  if (!route) return json(response, 404, '{"error":"not found"}');
  const finished = route[2](request, response);
  finished?.catch((error) => response.destroy(error));
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.send(server.address().port));
process.on("disconnect", () => process.exit());
