/**
 * `client.templates`.
 */
import { ask, control, listOf, objectOf, pathOf, patient } from "./answer.js";
import { call, throwIfAborted } from "./call.js";
import type { CallOptions } from "./call-options.js";
import type { Client } from "./client.js";
import { pause } from "./databases.js";
import { TemplateBuildError } from "./errors.js";
import { logLines } from "./log-lines.js";
import {
  buildLogsOptions,
  templateBuildOptions,
  templateDockerfileOptions,
  templateRegisterOptions,
  waitForBuildOptions,
} from "./namespace-options.js";
import { callOptions, checked, checkedText } from "./options.js";
import { decoded } from "./request.js";
import {
  dockerfileForm,
  imageForm,
  rootfsForm,
  type TemplateBuild,
  type TemplateBuildOptions,
  type TemplateDockerfileBuildOptions,
  type TemplateInfo,
  type TemplateRegisterOptions,
} from "./template.js";
import { sendPieces } from "./upload.js";

/** How long the files of a build may take to arrive, in milliseconds. */
const UPLOAD_LIMIT = 1_200_000;

/** Templates that sandboxes are made from. */
export class TemplateNamespace {
  constructor(private readonly client: Client) {}

  /** All templates. */
  async list(options?: CallOptions): Promise<TemplateInfo[]> {
    const limits = checked(callOptions, options, "templates.list");
    return (await call(limits, (cancel) => this.client.native.listTemplates(cancel))) as TemplateInfo[];
  }

  /**
   * One template.
   *
   * @throws {NotFoundError} if there is none with this name.
   */
  async get(name: string, options?: CallOptions): Promise<TemplateInfo> {
    const limits = checked(callOptions, options, "templates.get");
    checkedText(name, "a template name");
    return (await call(limits, (cancel) => this.client.native.getTemplate(name, cancel))) as TemplateInfo;
  }

  /** Builds a template from the archive of a root filesystem. Returns at once; see {@link TemplateNamespace.waitForBuild}. */
  async build(options: TemplateBuildOptions, limits?: CallOptions): Promise<TemplateBuild> {
    checked(templateBuildOptions, options, "templates.build");
    const request = patient(this.client, control(limits, "templates.build"), UPLOAD_LIMIT);
    throwIfAborted(request.signal);
    const { contentType, pieces } = await rootfsForm(options);
    return objectOf(decoded(await sendPieces(this.client, "templates/build", contentType, pieces, request), "json"));
  }

  /** Builds a template from an image. Returns at once. */
  async register(options: TemplateRegisterOptions, limits?: CallOptions): Promise<TemplateBuild> {
    checked(templateRegisterOptions, options, "templates.register");
    return this.#build(imageForm(options), limits, "templates.register");
  }

  /** Builds a template from a Dockerfile, on the server. Returns at once. */
  async buildFromDockerfile(options: TemplateDockerfileBuildOptions, limits?: CallOptions): Promise<TemplateBuild> {
    checked(templateDockerfileOptions, options, "templates.buildFromDockerfile");
    return this.#build(dockerfileForm(options), limits, "templates.buildFromDockerfile");
  }

  /**
   * Deletes a template.
   *
   * @throws {AuthError} for templates that come with the server.
   */
  async delete(name: string, options?: CallOptions): Promise<void> {
    await this.client.request("DELETE", pathOf("templates", name), { ...control(options, "templates.delete"), parseAs: "none" });
  }

  /** All builds. */
  async builds(options?: CallOptions): Promise<TemplateBuild[]> {
    const answer = await this.client.request("GET", "templates/builds", control(options, "templates.builds"));
    return listOf(answer, "items", "builds");
  }

  /** One build as it is now. */
  async buildStatus(id: string, options?: CallOptions): Promise<TemplateBuild> {
    return ask(this.client, "GET", pathOf("templates", "builds", id), control(options, "templates.buildStatus"));
  }

  /**
   * The log of a build, line by line. Leaving the loop closes the connection.
   *
   * @param options - `follow: false` ends with what is there; default: until the build ends.
   * @throws {InterruptedError} if the connection ends before the log does.
   */
  buildLogs(buildId: string, options?: { follow?: boolean } & CallOptions): AsyncGenerator<string, void, undefined> {
    return logLines(this.client, () => {
      const { follow = true, ...limits } = checked(buildLogsOptions, options, "templates.buildLogs");
      const query: [string, string][] = follow ? [["follow", "1"]] : [];
      const path = pathOf("templates", "builds", buildId, "logs");
      return [{ path, query, accept: "text/event-stream", endsWithDone: follow }, limits];
    });
  }

  /**
   * Waits until a build has ended.
   *
   * @param options - `intervalMs`: how often to ask, default 2000; `timeoutMs`: how long to wait, default 1 200 000.
   * @throws {TemplateBuildError} if it failed or takes too long.
   */
  async waitForBuild(
    buildId: string,
    options?: { intervalMs?: number; timeoutMs?: number; signal?: AbortSignal },
  ): Promise<TemplateBuild> {
    const { intervalMs = 2000, timeoutMs = 1_200_000, signal } = checked(waitForBuildOptions, options, "templates.waitForBuild");
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const left = Math.min(this.client.timeoutMs, Math.max(1, deadline - Date.now()));
      const build = await this.buildStatus(buildId, { ...(signal ? { signal } : {}), timeoutMs: left });
      if (build.status === "done") return build;
      if (build.status === "failed") throw new TemplateBuildError(build.error || "template build failed", build);
      if (Date.now() > deadline) {
        const text = `template build ${buildId} did not finish within ${timeoutMs}ms (last status: ${build.status})`;
        throw new TemplateBuildError(text, build);
      }
      await pause(intervalMs, signal);
    }
  }

  async #build(body: FormData, limits: CallOptions | undefined, what: string): Promise<TemplateBuild> {
    const request = patient(this.client, control(limits, what), UPLOAD_LIMIT);
    return ask(this.client, "POST", "templates/build", { ...request, body });
  }
}
