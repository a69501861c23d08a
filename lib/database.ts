/**
 * Databases: PostgreSQL servers that the platform runs.
 */

/** A database. */
export interface DatabaseInfo {
  /** UUID. */
  id: string;
  /** `provisioning`, `running`, `hibernated`, `waking`, `failed` or `error`. */
  status: string;
  /** Template of its sandbox. */
  template: string;
  /** Unix time in seconds. */
  created_at?: number;
  /** Host name. */
  host?: string;
  /** Port. */
  port?: number;
  /** Name of the database on its server. */
  database?: string;
  /** User name. */
  username?: string;
  /** Password. */
  password?: string;
  /** All of it as a PostgreSQL address. */
  connection_url?: string;
  /** Port of the broker. */
  broker_port?: number;
  /** Key of the broker. */
  broker_token?: string;
  /** Address of the broker: queries over HTTP. */
  broker_url?: string;
  /** Why it failed. */
  error?: string;
  /** True: it can be restored elsewhere. */
  failover_available?: boolean;
  /** Why it can or cannot. */
  failover_reason?: string;
  /** How long that would take, in seconds. */
  failover_eta_seconds?: number;
  /** Sandbox that it runs in. */
  sandbox_id?: string;
  /** Memory: `1g`, `4g` or `16g`. */
  size?: string;
  /** Database that it was cloned from. */
  cloned_from?: string;
  /** True: it never sleeps. */
  always_on?: boolean;
}

/** Options of {@link DatabasesAPI.create}. */
export interface DatabaseCreateOptions {
  /** Virtual CPUs. */
  cpu?: number;
  /** Memory in MiB. */
  memory_mb?: number;
  /** A name for people. */
  label?: string;
  /** Memory: `1g` (default), `4g` or `16g`. */
  size?: string;
  /** True: it never sleeps. Default false. */
  always_on?: boolean;
}

/** Options of {@link DatabasesAPI.clone}. */
export interface DatabaseCloneOptions {
  /** A name for people. */
  label?: string;
  /** State of which moment, RFC 3339. Default: the last that was backed up. */
  target_time?: string;
  /** Memory: `1g`, `4g` or `16g`. */
  size?: string;
}
