/**
 * `client.templates`.
 */
import { call } from "./call.js";
import type { CallOptions } from "./call-options.js";
import type { Client } from "./client.js";
import { callOptions, checked, checkedText } from "./options.js";
import type { TemplateInfo } from "./wire/index.js";

/** Templates that sandboxes are made from. */
export class TemplateNamespace {
  constructor(private readonly client: Client) {}

  /** All templates. */
  async list(options?: CallOptions): Promise<TemplateInfo[]> {
    const { signal } = checked(callOptions, options, "templates.list");
    return call(signal, (cancel) => this.client.native.listTemplates(cancel));
  }

  /**
   * One template.
   *
   * @throws {NotFoundError} if there is none with this name.
   */
  async get(name: string, options?: CallOptions): Promise<TemplateInfo> {
    const { signal } = checked(callOptions, options, "templates.get");
    checkedText(name, "a template name");
    return call(signal, (cancel) => this.client.native.getTemplate(name, cancel));
  }
}
