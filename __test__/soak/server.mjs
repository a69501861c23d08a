// A server in a process of its own, so that what is measured is the client. Sends its port to its parent.
import { createServer } from "node:http";
import { bytes as script } from "./script.mjs";

const info = '{"id":"sb","template":"t","cpu":1,"memory_mb":512,"status":"running"}';
const out = (text) => `event: stdout\ndata: ${JSON.stringify({ chunk: text })}\n\n`;
const exit = 'event: exit\ndata: {"exit_code":0}\n\n';

/** Commands of a stream: what is sent, and how it ends. */
const streams = {
  /** `cut <bytes>`: the connection breaks after them. */
  cut: (response, bytes) => response.write(script.subarray(0, Number(bytes)), () => response.destroy()),
  open: (response) => response.write(out("a")),
  /** `flood <bytes> <bytes of an event>` */
  flood: async (response, total, size) => {
    const piece = out("x".repeat(Number(size) - 1).concat("\n"));
    for (let sent = 0; sent < Number(total) && !response.destroyed; sent += Number(size)) {
      if (!response.write(piece)) await drained(response);
    }
    response.end(exit);
  },
};

/** Waits until there is room, or nobody listens any more. */
function drained(response) {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}

const json = (response, status, body) => response.writeHead(status, { "content-type": "application/json" }).end(body);

const routes = [
  [
    "POST /v1/sandboxes/sb/exec/stream",
    (response, body) => {
      const [name, ...args] = JSON.parse(body).cmd.split(" ");
      response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
      void streams[name](response, ...args);
    },
  ],
  ["POST /v1/sandboxes/sb/exec", (response) => json(response, 200, '{"stdout":"a","stderr":"","exit_code":0}')],
  ["GET /v1/sandboxes/sb/fs", () => {}],
  ["PUT /v1/sandboxes/sb/fs", (response, body) => json(response, 200, JSON.stringify({ path: "/a", bytes: body.length }))],
  ["GET /v1/sandboxes/sb", (response) => json(response, 200, info)],
  ["GET /v1/volumes/none", (response) => json(response, 404, '{"error":"not found"}')],
];

const server = createServer((request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("error", () => {});
  request.on("end", () => {
    const route = `${request.method} ${request.url?.split("?")[0]}`;
    const found = routes.find(([name]) => name === route);
    if (found) found[1](response, Buffer.concat(pieces));
    else json(response, 404, '{"error":"no such route"}');
  });
});
server.listen(0, "127.0.0.1", () => process.send?.(server.address().port));
process.on("disconnect", () => process.exit());
