// Servers on this machine's loopback with a certificate authority of their own, and what they were told.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createPlainServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A certificate authority, and a certificate of it for `localhost` and `127.0.0.1`. */
export class TestAuthority {
  private readonly folder = mkdtempSync(join(tmpdir(), "pandastack-authority-"));
  /** Where the certificate of the authority lies. */
  readonly file = join(this.folder, "ca.pem");

  constructor() {
    const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: this.folder, stdio: "pipe" });
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    openssl("req", "-x509", ...key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test authority");
    openssl("req", ...key, "-keyout", "host.key", "-out", "host.csr", "-subj", "/CN=test host");
    writeFileSync(join(this.folder, "names"), "subjectAltName=DNS:localhost,IP:127.0.0.1\n");
    const from = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names"];
    openssl("x509", "-req", "-in", "host.csr", ...from, "-out", "host.pem", "-days", "2");
  }

  read(name: string): Buffer {
    return readFileSync(join(this.folder, name));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Starts a server; HTTPS if there is an authority. */
export async function listen(handler: Handler, authority?: TestAuthority): Promise<{ server: Server; port: number }> {
  const server = authority
    ? createServer({ key: authority.read("host.key"), cert: authority.read("host.pem") }, handler)
    : createPlainServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, port: (server.address() as AddressInfo).port };
}
