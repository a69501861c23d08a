import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { linkedSignal } from "../../../lib/agents/linked-signal.js";

test("aborts with the first of its signals and keeps the reason", () => {
  const [first, second] = [new AbortController(), new AbortController()];
  const { signal } = linkedSignal(first.signal, undefined, second.signal);
  expect(signal.aborted).toBe(false);
  second.abort(new Error("enough"));
  first.abort(new Error("too late"));
  expect(signal.reason).toEqual(new Error("enough"));
});

test("is aborted at once if one of them is", () => {
  expect(linkedSignal(AbortSignal.abort("before")).signal.reason).toBe("before");
});

test("leaves nothing on a signal once released", () => {
  const { signal } = new AbortController();
  const { release } = linkedSignal(signal);
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  release();
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});
