// A registry that knows nothing but the tarballs it is given: what is tried is an installation as users have it.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

/** Serves packages until `close()`; `npmrc` makes package managers ask here for the packages of the scope, and only for those. */
export async function serveTarballs(tarballs, scope) {
  const packages = new Map(tarballs.map(readTarball).map((entry) => [entry.manifest.name, entry]));
  const server = createServer((request, response) => answer(packages, server.address().port, request, response));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    npmrc: `${scope}:registry=http://127.0.0.1:${server.address().port}/\n`,
    close: () => new Promise((resolve) => server.close(resolve) && server.closeAllConnections()),
  };
}

function readTarball(path) {
  const manifest = JSON.parse(execFileSync("tar", ["-xzOf", path, "package/package.json"], { encoding: "utf8" }));
  const bytes = readFileSync(path);
  const digest = (algorithm, encoding) => createHash(algorithm).update(bytes).digest(encoding);
  return { manifest, bytes, shasum: digest("sha1", "hex"), integrity: `sha512-${digest("sha512", "base64")}` };
}

function answer(packages, port, request, response) {
  const path = decodeURIComponent(request.url ?? "").slice(1);
  const found = packages.get(path.replace(/\.tgz$/, ""));
  if (!found) {
    response.writeHead(404, { "content-type": "application/json" }).end('{"error":"not found"}');
  } else if (path.endsWith(".tgz")) {
    response.writeHead(200, { "content-type": "application/octet-stream" }).end(found.bytes);
  } else {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(packument(found, port)));
  }
}

function packument({ manifest, shasum, integrity }, port) {
  const { name, version } = manifest;
  const tarball = `http://127.0.0.1:${port}/${name}.tgz`;
  return {
    name,
    "dist-tags": { latest: version },
    versions: { [version]: { ...manifest, dist: { tarball, shasum, integrity } } },
  };
}
