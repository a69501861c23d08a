/**
 * Environment variables that the addon needs.
 *
 * @internal
 */

/** Their names. */
const NAMES = [
  "PANDASTACK_API",
  "PANDASTACK_API_URL",
  "PANDASTACK_API_KEY",
  "PANDASTACK_TOKEN",
  "PANDASTACK_HOME",
  "PANDASTACK_BINARY",
  "PANDASTACK_EXEC_READY_TIMEOUT_MS",
  "XDG_CONFIG_HOME",
  "XDG_STATE_HOME",
  "HOME",
  "SSL_CERT_FILE",
  "NODE_EXTRA_CA_CERTS",
];

/**
 * The variables as this thread sees them. The addon would see those of the process, which differ: a worker has a copy of its own, and
 * some runtimes never write theirs back.
 */
export function environment(): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of NAMES) {
    const value = process.env[name];
    if (value !== undefined) found[name] = value;
  }
  return found;
}
