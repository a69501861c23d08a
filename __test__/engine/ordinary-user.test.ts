// The engine as an ordinary user, who has no root and gets isolation from a user namespace.
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@pandastack/sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { binary, preparedHome } from "../support/engine.js";
import {
  forkWhilePrinting,
  generationsWithBackgroundProcess,
  generationsWithCommandInFlight,
  generationsWithHeap,
} from "../support/state-scenarios.js";

const user = "pandastack-test";
const isRoot = process.getuid?.() === 0;
let folder: string;

const shell = (command: string) =>
  execFileSync("su", ["-s", "/bin/bash", user, "-c", command], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env.PATH,
      PANDASTACK_HOME: join(folder, "home"),
      PANDASTACK_API: "local",
      PANDASTACK_RUNSC: join(folder, "runsc"),
    },
  });

/** The rootfs image of the prepared home's default template. */
function preparedImage(): string {
  const image = join(preparedHome(), "templates", "names", "code-interpreter", "rootfs.erofs");
  if (!existsSync(image)) throw new Error(`no default template in ${preparedHome()}: run make setup`);
  return image;
}

describe.runIf(isRoot)("an ordinary user", () => {
  beforeAll(() => {
    execFileSync("bash", ["-c", `id ${user} >/dev/null 2>&1 || useradd --no-create-home ${user}`]);
    folder = mkdtempSync(join(tmpdir(), "pandastack-user-"));
    chmodSync(folder, 0o755);
    for (const name of ["pandastack", "pandastack-guest"]) copyFileSync(join(binary, "..", name), join(folder, name));
    copyFileSync(preparedImage(), join(folder, "rootfs.erofs"));
    const runsc = process.env.PANDASTACK_RUNSC ?? join(preparedHome(), "bin", "runsc");
    copyFileSync(
      existsSync(runsc) ? runsc : execFileSync("which", ["runsc"], { encoding: "utf8" }).trim(),
      join(folder, "runsc"),
    );
    for (const name of ["pandastack", "pandastack-guest", "runsc"]) chmodSync(join(folder, name), 0o755);
    mkdirSync(join(folder, "home"));
    execFileSync("chown", [user, join(folder, "home")]);
    shell(`${folder}/pandastack template import ${folder}/rootfs.erofs`);
  });
  afterAll(() => {
    try {
      shell(`${folder}/pandastack engine stop --kill`);
    } catch {
      // The engine never came up: nothing to stop.
    }
    rmSync(folder, { recursive: true, force: true });
    execFileSync("userdel", [user]);
  });

  test("creates, runs and kills", () => {
    const id = JSON.parse(shell(`${folder}/pandastack sandbox create`)).id;
    expect(shell(`${folder}/pandastack sandbox exec ${id} -- 'id -un; echo $((6 * 7))'`)).toBe("root\n42\n");
    expect(shell(`${folder}/pandastack run -c 'print(40 + 2)'`)).toContain("42");
    expect(shell(`${folder}/pandastack sandbox kill ${id}`)).toContain(id);
    expect(JSON.parse(shell(`${folder}/pandastack sandbox list`))).toEqual([]);
  });

  describe("has snapshots and forks", () => {
    let client: Client;
    beforeAll(() => {
      shell(`${folder}/pandastack sandbox list`);
      client = new Client({ apiUrl: `unix:${join(folder, "home", "engine.sock")}`, timeoutMs: 120_000 });
    });

    test("generations with much memory", () => generationsWithHeap(client, 100));
    test("generations with a process in the background", () => generationsWithBackgroundProcess(client));
    test("generations with a command in flight", () => generationsWithCommandInFlight(client));
    test("a fork tree while a cell and a command print", () => forkWhilePrinting(client));
  });

  test("is told the commands that give a template, and which need root", () => {
    const setup = spawnSync("su", ["-s", "/bin/bash", user, "-c", `${folder}/pandastack engine setup`], {
      encoding: "utf8",
      env: { PATH: process.env.PATH, PANDASTACK_HOME: join(folder, "home", "empty"), PANDASTACK_RUNSC: join(folder, "runsc") },
    });
    expect(setup.status).toBe(1);
    expect(setup.stderr).toContain(`sudo env PANDASTACK_HOME=/var/lib/pandastack ${folder}/pandastack engine setup\n`);
    expect(setup.stderr).toContain("sudo cp /var/lib/pandastack/templates/names/code-interpreter/rootfs.erofs");
    expect(setup.stderr).toContain(`${folder}/pandastack template import`);
  });

  test("is refused where user namespaces are off, and told what to enable", () => {
    // A user namespace whose own limit is zero: in it no further one can be made, as on a machine where they are switched off.
    const inside = join(folder, "inside.sh");
    writeFileSync(
      inside,
      `until [ -e ${folder}/mapped ]; do sleep 0.05; done
      echo 0 > /proc/sys/user/max_user_namespaces
      exec setpriv --reuid 1 --regid 1 --clear-groups --inh-caps=-all --ambient-caps=-all ${folder}/pandastack serve`,
    );
    const outside = `unshare --user --keep-caps bash ${inside} & child=$!
      until [ "$(readlink /proc/$child/ns/user)" != "$(readlink /proc/self/ns/user)" ]; do sleep 0.05; done
      echo 0 0 65536 > /proc/$child/uid_map && echo 0 0 65536 > /proc/$child/gid_map && touch ${folder}/mapped; wait $child`;
    const { status, stderr: outcome } = spawnSync("bash", ["-c", outside], {
      encoding: "utf8",
      timeout: 20_000,
      env: { PATH: process.env.PATH, PANDASTACK_HOME: join(folder, "refused-home") },
    });
    expect(status).toBe(1);
    expect(outcome).toMatch(/user namespaces/);
    expect(outcome).toMatch(/max_user_namespaces/);
  });
});
