/**
 * Checks of what an exploration takes.
 *
 * @internal
 */
import { z } from "zod/v4";
import { callback, signal } from "./options.js";

const flag = z.boolean().optional();

/** Options of `explore`. */
export const exploreOptions = z.strictObject({
  scoreFn: callback,
  select: z.union([z.enum(["max", "min"]), z.custom((value) => typeof value === "function")]).optional(),
  requireSuccess: flag,
  maxConcurrency: z.number().int().positive().optional(),
  cleanupLosers: flag,
  promoteWinner: flag,
  captureFiles: z.union([z.boolean(), z.string()]).optional(),
  ttlSeconds: z.number().nonnegative().optional(),
  onOutcome: callback,
  signal,
});
