/**
 * Answers that the addon passes on as they are.
 *
 * @internal
 */
import type { Client } from "./client.js";
import { NetworkError } from "./errors.js";
import { callOptions, checked, checkedText } from "./options.js";
import type { RequestOptions } from "./request.js";

/** A path under `/v1` with every part encoded. Ids may be numbers. */
export function pathOf(...parts: (string | number)[]): string {
  return parts.map((part) => encodeURIComponent(checkedText(String(part), "an id or name"))).join("/");
}

/** A list as servers send it: an array, an object that holds it under one of `keys`, or nothing for none. */
export function listOf<T>(answer: unknown, ...keys: string[]): T[] {
  if (answer === undefined || answer === null) return [];
  if (Array.isArray(answer)) return answer as T[];
  const fields = answer as Record<string, unknown>;
  const list = keys.map((key) => fields[key]).find((value) => value !== undefined && value !== null);
  if (list === undefined) return [];
  if (!Array.isArray(list)) throw new NetworkError("the server's list cannot be understood");
  return list as T[];
}

/** An object where one is due. */
export function objectOf<T>(answer: unknown): T {
  if (typeof answer === "object" && answer !== null) return answer as T;
  throw new NetworkError("the server sent no answer where one was due");
}

/** The same call for every namespace whose answers are passed on as they are. */
export async function ask<T>(client: Client, method: string, path: string, options: RequestOptions = {}): Promise<T> {
  return objectOf<T>(await client.request(method, path, options));
}

/** Checks the options that a call without others takes. */
export function control(options: unknown, what: string): RequestOptions {
  const { signal, timeoutMs } = checked(callOptions, options, what);
  return { ...(signal ? { signal } : {}), ...(timeoutMs === undefined ? {} : { timeoutMs }) };
}

/** The options of a call that takes longer than most, unless the caller says otherwise. */
export function patient(client: Client, options: RequestOptions, timeoutMs: number): RequestOptions {
  return { timeoutMs: Math.max(client.timeoutMs, timeoutMs), ...options };
}
