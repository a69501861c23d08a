import type { Row } from "./compare.js";

const VOLUMES = "GET /v1/volumes";
const answers = (status: number, body: string, type = "application/json", headers = {}) => ({
  [VOLUMES]: { status, type, body, headers },
});
const call: Row["call"] = ({ client }) => client.volumes.list();

/** Statuses that 0.9.0 does not repeat, with every shape of body. */
const refusals: Row[] = [
  ...[400, 402, 403, 409, 411, 413, 422, 500, 501, 507].map((status) => ({
    name: `HTTP ${status}`,
    call,
    answers: answers(status, '{"error":"no"}'),
  })),
  { name: "a message under `message`", call, answers: answers(400, '{"message":"no"}') },
  { name: "a message under `detail`", call, answers: answers(400, '{"error":"","detail":"missing bearer token"}') },
  {
    name: "HTTP 401",
    call,
    answers: answers(401, '{"error":"","detail":"missing bearer token"}'),
    deviation: { id: "refused-key", parts: ["error"] },
  },
  { name: "plain text", call, answers: answers(500, "upstream is down", "text/plain") },
  { name: "nothing", call, answers: answers(500, "") },
  {
    name: "an envelope",
    call,
    answers: answers(400, '{"error":{"code":"x","message":"no"}}'),
    deviation: { id: "error-envelope", parts: ["error"] },
  },
  {
    name: "HTTP 404",
    call,
    answers: answers(404, '{"error":"no"}'),
    deviation: { id: "one-request-for-404", parts: ["requests"] },
  },
  {
    name: "HTTP 429",
    call,
    answers: answers(429, '{"error":"slow down"}', "application/json", { "retry-after": "0" }),
    deviation: { id: "reads-are-repeated", parts: ["requests"] },
  },
  {
    name: "HTTP 503",
    call,
    answers: answers(503, '{"error":"no room"}'),
    deviation: { id: "reads-are-repeated", parts: ["requests"] },
  },
  {
    name: "a page where JSON is due",
    call,
    answers: answers(200, "<html>", "text/html"),
    deviation: { id: "what-is-not-json", parts: ["error"] },
  },
  {
    name: "null for a list",
    call: ({ client }) => client.sandboxes.list(),
    answers: { "GET /v1/sandboxes": { status: 200, type: "application/json", body: "null" } },
    deviation: { id: "empty-lists", parts: ["result", "error"] },
  },
];

/** Everything that can go wrong with a call. */
export const errorRows: Row[] = [
  ...refusals.map((row) => ({ ...row, fails: true })),
  {
    name: "an option that there is not",
    call: ({ client }) => client.volumes.create({ name: "v", size_mb: 1, size: 1 } as never),
    deviation: { id: "unknown-options", parts: ["requests", "result", "error"] },
  },
];
