/**
 * `client.apps`.
 */
import { ask, control, listOf, pathOf } from "./answer.js";
import type {
  AppCreateOptions,
  AppDomain,
  AppInfo,
  AppUpdateOptions,
  DeploymentInfo,
  EnvVar,
  EnvVarOptions,
  PreviewRepo,
} from "./app.js";
import type { CallOptions } from "./call-options.js";
import type { Client } from "./client.js";
import { logLines } from "./log-lines.js";
import { appCreateOptions, appUpdateOptions, deployOptions, envVarOptions, previewRepoOptions } from "./namespace-options.js";
import { checked, checkedText } from "./options.js";

/** Apps of one workspace. */
export class AppsAPI {
  constructor(private readonly client: Client) {}

  /**
   * Makes an app; {@link AppsAPI.deploy} builds it.
   *
   * @throws {ConflictError} if the name is taken.
   */
  async create(options: AppCreateOptions, call?: CallOptions): Promise<AppInfo> {
    const json = checked(appCreateOptions, options, "apps.create");
    return ask(this.client, "POST", "apps", { ...control(call, "apps.create"), json });
  }

  /** All apps. */
  async list(options?: CallOptions): Promise<AppInfo[]> {
    return listOf(await this.client.request("GET", "apps", control(options, "apps.list")), "items", "apps");
  }

  /**
   * One app.
   *
   * @throws {NotFoundError} if there is none with this id.
   */
  async get(id: string, options?: CallOptions): Promise<AppInfo> {
    return ask(this.client, "GET", pathOf("apps", id), control(options, "apps.get"));
  }

  /** Changes an app; the next deployment applies it. */
  async update(id: string, options: AppUpdateOptions, call?: CallOptions): Promise<AppInfo> {
    const json = checked(appUpdateOptions, options, "apps.update");
    return ask(this.client, "PATCH", pathOf("apps", id), { ...control(call, "apps.update"), json });
  }

  /** Deletes an app and its sandbox. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.client.request("DELETE", pathOf("apps", id), { ...control(options, "apps.delete"), parseAs: "none" });
  }

  /** Starts a deployment without waiting for it. */
  async deploy(id: string, options: { gitRef?: string } = {}, call?: CallOptions): Promise<DeploymentInfo> {
    const { gitRef } = checked(deployOptions, options, "apps.deploy");
    const json = gitRef ? { git_ref: gitRef } : {};
    return ask(this.client, "POST", pathOf("apps", id, "deploys"), { ...control(call, "apps.deploy"), json });
  }

  /** Deployments, newest first. */
  async deployments(id: string, options?: CallOptions): Promise<DeploymentInfo[]> {
    const answer = await this.client.request("GET", pathOf("apps", id, "deploys"), control(options, "apps.deployments"));
    return listOf(answer, "items", "deploys");
  }

  /** One deployment with its log. */
  async deployment(appId: string, deploymentId: string, options?: CallOptions): Promise<DeploymentInfo> {
    return ask(this.client, "GET", pathOf("apps", appId, "deploys", deploymentId), control(options, "apps.deployment"));
  }

  /**
   * Goes back to the deployment before.
   *
   * @throws {ConflictError} if there is none.
   */
  async rollback(id: string, options?: CallOptions): Promise<DeploymentInfo> {
    return ask(this.client, "POST", pathOf("apps", id, "rollback"), { ...control(options, "apps.rollback"), json: {} });
  }

  /**
   * The log of a deployment, line by line, until it ends. Leaving the loop closes the connection.
   *
   * @throws {InterruptedError} if the connection ends before the log does.
   */
  deployLogs(appId: string, deploymentId: string, options?: CallOptions): AsyncGenerator<string, void, undefined> {
    return logLines(this.client, () => {
      const path = pathOf("apps", appId, "deploys", deploymentId, "logs");
      return [{ path, accept: "text/event-stream", endsWithDone: true }, control(options, "apps.deployLogs")];
    });
  }

  /** The apps that were made for pull requests. */
  async previews(options?: CallOptions): Promise<AppInfo[]> {
    return (await this.list(options)).filter((app) => app.is_preview);
  }

  /** Repositories whose pull requests get previews. */
  async previewRepos(options?: CallOptions): Promise<PreviewRepo[]> {
    return listOf(await this.client.request("GET", "preview-repos", control(options, "apps.previewRepos")), "repos", "items");
  }

  /** Makes previews for a repository's pull requests from now on. */
  async enablePreviewRepo(
    githubRepoId: number,
    options: { repoFullName?: string } = {},
    call?: CallOptions,
  ): Promise<{
    /** GitHub's number of it. */
    github_repo_id: number;
    /** Whether pull requests get previews. */
    enabled: boolean;
  }> {
    const { repoFullName = "" } = checked(previewRepoOptions, options, "apps.enablePreviewRepo");
    const json = { github_repo_id: githubRepoId, repo_full_name: repoFullName };
    return ask(this.client, "POST", "preview-repos", { ...control(call, "apps.enablePreviewRepo"), json });
  }

  /** Makes no more previews for a repository; those that are there stay. */
  async disablePreviewRepo(githubRepoId: number, options?: CallOptions): Promise<void> {
    const request = { ...control(options, "apps.disablePreviewRepo"), parseAs: "none" } as const;
    await this.client.request("DELETE", pathOf("preview-repos", githubRepoId), request);
  }

  /** Environment of an app; secrets are masked. */
  async listEnv(appId: string, options?: CallOptions): Promise<EnvVar[]> {
    return listOf(await this.client.request("GET", pathOf("apps", appId, "env"), control(options, "apps.listEnv")), "env");
  }

  /** Sets a variable of an app. */
  async setEnv(
    appId: string,
    key: string,
    value: string,
    options: EnvVarOptions = {},
    call?: CallOptions,
  ): Promise<{
    /** Its name. */
    key: string;
    /** Whether its value is never shown again. */
    secret: boolean;
    /** Where it applies. */
    scope: string;
  }> {
    const { secret = false, scope = "all" } = checked(envVarOptions, options, "apps.setEnv");
    const request = { ...control(call, "apps.setEnv"), json: { value, secret, scope } };
    return ask(this.client, "PUT", pathOf("apps", appId, "env", key), request);
  }

  /** Removes a variable of an app. */
  async unsetEnv(appId: string, key: string, options?: CallOptions): Promise<void> {
    const request = { ...control(options, "apps.unsetEnv"), parseAs: "none" } as const;
    await this.client.request("DELETE", pathOf("apps", appId, "env", key), request);
  }

  /** Sets variables of an app from the text of a `.env` file. */
  async importEnv(
    appId: string,
    dotenv: string,
    options: EnvVarOptions = {},
    call?: CallOptions,
  ): Promise<{
    /** Variables set by this call. */
    imported: number;
    /** Variables there are now. */
    total: number;
  }> {
    const { secret = false, scope = "all" } = checked(envVarOptions, options, "apps.importEnv");
    const request = { ...control(call, "apps.importEnv"), json: { dotenv, secret, scope } };
    return ask(this.client, "POST", pathOf("apps", appId, "env", "import"), request);
  }

  /** Gives an app a domain of yours; the answer names the DNS records to make. */
  async addDomain(appId: string, domain: string, options?: CallOptions): Promise<AppDomain> {
    const json = { domain: checkedText(domain, "a domain") };
    return ask(this.client, "POST", pathOf("apps", appId, "domains"), { ...control(options, "apps.addDomain"), json });
  }

  /** Domains of an app. */
  async listDomains(appId: string, options?: CallOptions): Promise<AppDomain[]> {
    const answer = await this.client.request("GET", pathOf("apps", appId, "domains"), control(options, "apps.listDomains"));
    return listOf(answer, "domains");
  }

  /** One domain of an app. */
  async getDomain(appId: string, domain: string, options?: CallOptions): Promise<AppDomain> {
    return ask(this.client, "GET", pathOf("apps", appId, "domains", domain), control(options, "apps.getDomain"));
  }

  /** Takes a domain away from an app. */
  async removeDomain(appId: string, domain: string, options?: CallOptions): Promise<void> {
    const request = { ...control(options, "apps.removeDomain"), parseAs: "none" } as const;
    await this.client.request("DELETE", pathOf("apps", appId, "domains", domain), request);
  }

  /** Environment of all previews of a repository; secrets are masked. */
  async listPreviewEnv(githubRepoId: number, options?: CallOptions): Promise<EnvVar[]> {
    const path = pathOf("repos", githubRepoId, "preview-env");
    return listOf(await this.client.request("GET", path, control(options, "apps.listPreviewEnv")), "env");
  }

  /** Sets a variable of all previews of a repository. */
  async setPreviewEnv(
    githubRepoId: number,
    key: string,
    value: string,
    options: { secret?: boolean } = {},
    call?: CallOptions,
  ): Promise<{
    /** Its name. */
    key: string;
    /** Whether its value is never shown again. */
    secret: boolean;
  }> {
    const { secret = false } = checked(envVarOptions, options, "apps.setPreviewEnv");
    const request = { ...control(call, "apps.setPreviewEnv"), json: { value, secret } };
    return ask(this.client, "PUT", pathOf("repos", githubRepoId, "preview-env", key), request);
  }

  /** Removes a variable of all previews of a repository. */
  async unsetPreviewEnv(githubRepoId: number, key: string, options?: CallOptions): Promise<void> {
    const request = { ...control(options, "apps.unsetPreviewEnv"), parseAs: "none" } as const;
    await this.client.request("DELETE", pathOf("repos", githubRepoId, "preview-env", key), request);
  }

  /** Sets variables of all previews of a repository from the text of a `.env` file. */
  async importPreviewEnv(
    githubRepoId: number,
    dotenv: string,
    options: { secret?: boolean } = {},
    call?: CallOptions,
  ): Promise<{
    /** Variables set by this call. */
    imported: number;
    /** Variables there are now. */
    total: number;
  }> {
    const { secret = false } = checked(envVarOptions, options, "apps.importPreviewEnv");
    const request = { ...control(call, "apps.importPreviewEnv"), json: { dotenv, secret } };
    return ask(this.client, "POST", pathOf("repos", githubRepoId, "preview-env", "import"), request);
  }
}
