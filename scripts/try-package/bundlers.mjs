// The bundlers, with the settings that the README documents.
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { run, start } from "./run.mjs";

const esbuild = "0.28.2";
const next = { react: "^19.0.0", "react-dom": "^19.0.0" };

/** Builds with the arguments given to a bundler's command, then runs what came out. */
const builds = (command, args, built) => ({
  try: async ({ cwd, env }) => {
    await run(join(cwd, "node_modules/.bin", command), args, { cwd, env, seconds: 180 });
    return run(process.execPath, [built], { cwd, env });
  },
});

/** Builds, serves, and asks for the route that uses a sandbox. */
const buildsSite = (...options) => ({
  try: async ({ cwd, env }) => {
    const command = join(cwd, "node_modules/.bin/next");
    await run(command, ["build", ...options], { cwd, env, seconds: 400 });
    const port = await freePort();
    const server = start(command, ["start", "--hostname", "127.0.0.1", "--port", String(port)], { cwd, env });
    try {
      return await answerOf(`http://127.0.0.1:${port}/api/run`);
    } finally {
      await server.stop();
    }
  },
});

export const bundlers = [
  {
    name: "esbuild",
    fixture: "esbuild",
    dependencies: { esbuild },
    ...builds(
      "esbuild",
      ["agent.ts", "--bundle", "--platform=node", "--external:@pandastack/sdk", "--outfile=built/agent.cjs"],
      "built/agent.cjs",
    ),
  },
  {
    name: "webpack",
    fixture: "webpack",
    dependencies: { webpack: "5.113.0", "webpack-cli": "^6.0.0", "esbuild-loader": "^4.3.0", esbuild },
    ...builds("webpack", [], "built/agent.cjs"),
  },
  { name: "vite", fixture: "vite", dependencies: { vite: "8.3.8" }, ...builds("vite", ["build"], "built/agent.mjs") },
  { name: "next 16 turbopack", fixture: "next", dependencies: { next: "16.4.6", ...next }, ...buildsSite() },
  { name: "next 16 webpack", fixture: "next", dependencies: { next: "16.4.6", ...next }, ...buildsSite("--webpack") },
  { name: "next 15 webpack", fixture: "next", dependencies: { next: "15.5.29", ...next }, ...buildsSite() },
];

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** The answer, as soon as the server has come up. */
async function answerOf(url) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(60_000) });
      return `${answer.status} ${await answer.text()}`;
    } catch (error) {
      if (attempt >= 240 || error.name === "TimeoutError") throw error;
      await sleep(250);
    }
  }
}
