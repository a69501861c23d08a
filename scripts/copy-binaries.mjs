// Copies the engine and the guest agent beside the addon, where the SDK looks for them. Those not built yet are left out.
import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const target = process.env.CARGO_TARGET_DIR || join(root, 'target')
const musl = `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-unknown-linux-musl`

for (const name of ['pandastack', 'pandastack-guest']) {
  const found = ['release', 'fast', 'debug']
    .flatMap((profile) => [join(target, musl, profile, name), join(target, profile, name)])
    .find((path) => existsSync(path))
  if (!found) {
    console.log(`not built, not copied: ${name}`)
    continue
  }
  // A running binary cannot be overwritten, only replaced.
  const copy = join(root, 'native', `${name}.new`)
  rmSync(copy, { force: true })
  copyFileSync(found, copy)
  renameSync(copy, join(root, 'native', name))
}
