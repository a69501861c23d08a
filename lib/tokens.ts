/**
 * `client.tokens`.
 */
import { call } from "./call.js";
import type { CallOptions } from "./call-options.js";
import type { Client } from "./client.js";
import { callOptions, checked, checkedText } from "./options.js";
import type { CreatedToken, TokenInfo } from "./wire/index.js";

/** API tokens. */
export class TokenNamespace {
  constructor(private readonly client: Client) {}

  /** The caller's tokens, without their secrets. */
  async list(options?: CallOptions): Promise<TokenInfo[]> {
    const limits = checked(callOptions, options, "tokens.list");
    return call(limits, (cancel) => this.client.native.listTokens(cancel));
  }

  /** A new token; its secret is in the answer and nowhere else. */
  async create(label?: string, options?: CallOptions): Promise<CreatedToken> {
    const limits = checked(callOptions, options, "tokens.create");
    if (label !== undefined) checkedText(label, "a token label");
    return call(limits, (cancel) => this.client.native.createToken(label, cancel));
  }

  /**
   * Revokes a token.
   *
   * @param prefix - Its prefix, as in the list.
   * @throws {NotFoundError} if there is none with this prefix.
   */
  async revoke(prefix: string, options?: CallOptions): Promise<void> {
    const limits = checked(callOptions, options, "tokens.revoke");
    checkedText(prefix, "a token prefix");
    await call(limits, (cancel) => this.client.native.revokeToken(prefix, cancel));
  }
}
