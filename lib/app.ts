/**
 * Apps: programs that the platform builds from a repository and serves.
 */

/** An app. */
export interface AppInfo {
  /** UUID. */
  id: string;
  /** Workspace that owns it. */
  workspace: string;
  /** Name. */
  name: string;
  /** Repository. */
  git_url: string;
  /** Branch. */
  git_branch: string;
  /** Framework. */
  framework?: string;
  /** Installs its dependencies. */
  install_command?: string;
  /** Builds it. */
  build_command?: string;
  /** Starts it. */
  start_command?: string;
  /** Folder in the repository. */
  root_directory?: string;
  /** Port that it listens on. */
  port: number;
  /** Environment. */
  env: Record<string, string>;
  /** Template of its sandbox. */
  template: string;
  /** Virtual CPUs. */
  cpu: number;
  /** Memory in MiB. */
  memory_mb: number;
  /** Sandbox that it runs in. */
  sandbox_id?: string;
  /** Deployment that is served. */
  active_deployment_id?: string;
  /** State. */
  status: string;
  /** Address. */
  url?: string;
  /** True: made for a pull request. */
  is_preview?: boolean;
  /** Number of the pull request. */
  pr_number?: number;
  /** `open` or `closed`. */
  pr_state?: string;
  /** Commit of the pull request. */
  head_sha?: string;
  /** `owner/name`. */
  repo_full_name?: string;
  /** Address of the preview. */
  preview_url?: string;
  /** RFC 3339. */
  created_at: string;
  /** RFC 3339. */
  updated_at: string;
}

/** A repository whose pull requests get previews. */
export interface PreviewRepo {
  /** GitHub's number for it. */
  github_repo_id: number;
  /** `owner/name`. */
  repo_full_name: string;
  /** True: previews are made. */
  enabled: boolean;
}

/** An environment variable of an app or of a repository's previews. */
export interface EnvVar {
  /** Name. */
  key: string;
  /** Value; masked for secrets. */
  value?: string;
  /** True: never shown again. */
  secret: boolean;
  /** Where it applies. */
  scope: "all" | "production" | "preview";
  /** RFC 3339. */
  updated_at?: string;
  /** Who made it. */
  created_by?: string;
}

/** Options of a variable. */
export interface EnvVarOptions {
  /** True: never shown again. Default false. */
  secret?: boolean;
  /** Where it applies. Default `all`. */
  scope?: "all" | "production" | "preview";
}

/** A DNS record that a custom domain needs. */
export interface AppDomainRecord {
  /** `CNAME`, `ALIAS` or `TXT`. */
  type: string;
  /** Full name of the record. */
  name: string;
  /** Its value. */
  value: string;
  /** `routing` or `verification`. */
  purpose: string;
  /** Advice. */
  note?: string;
}

/** A custom domain of an app. */
export interface AppDomain {
  /** The domain. */
  domain: string;
  /** App that it leads to. */
  app_id: string;
  /** `pending`: records are missing; `verified`: its certificate is being made; `active`: it works. */
  status: "pending" | "verified" | "active" | "error";
  /** State of its certificate. */
  cert_status?: string;
  /** What DNS says now. */
  dns_note?: string;
  /** What is wrong. */
  error?: string;
  /** Records that it needs. */
  records: AppDomainRecord[];
  /** RFC 3339. */
  created_at: string;
  /** RFC 3339. */
  updated_at: string;
}

/** One deployment of an app. */
export interface DeploymentInfo {
  /** UUID. */
  id: string;
  /** App that it is of. */
  app_id: string;
  /** Workspace that owns it. */
  workspace: string;
  /** `queued`, `building`, `deploying`, `live`, `failed`, `superseded` or `rolled_back`. */
  status: string;
  /** Commit. */
  git_commit?: string;
  /** Branch or tag. */
  git_ref?: string;
  /** Sandbox that it runs in. */
  sandbox_id?: string;
  /** Its whole log. */
  build_logs?: string;
  /** Why it failed. */
  error?: string;
  /** RFC 3339. */
  created_at: string;
  /** RFC 3339. */
  updated_at: string;
  /** RFC 3339. */
  finished_at?: string;
}

/** What {@link AppsAPI.update} changes; a new deployment applies it. */
export interface AppUpdateOptions {
  /** Branch. Default `main`. */
  git_branch?: string;
  /** `nextjs`, `vite`, `node` or `static`. Default: found out. */
  framework?: string;
  /** Installs its dependencies. */
  install_command?: string;
  /** Builds it. */
  build_command?: string;
  /** Starts it. */
  start_command?: string;
  /** Folder in the repository. */
  root_directory?: string;
  /** Port that it listens on. Default 3000. */
  port?: number;
  /** Environment. */
  env?: Record<string, string>;
  /** Template of its sandbox. */
  template?: string;
  /** Virtual CPUs. */
  cpu?: number;
  /** Memory in MiB. */
  memory_mb?: number;
}

/** Options of {@link AppsAPI.create}. */
export interface AppCreateOptions extends AppUpdateOptions {
  /** Name. */
  name: string;
  /** Repository. */
  git_url: string;
}
