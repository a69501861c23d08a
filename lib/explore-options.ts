/**
 * Checks of what an exploration takes.
 *
 * @internal
 */
import { callback, callOptions, flag } from "./options.js";
import { seconds } from "./quantity.js";
import { schema } from "./schema.js";

/** Options of `explore`. */
export const exploreOptions = schema((z) =>
  callOptions().extend({
    scoreFn: callback(),
    select: z.union([z.enum(["max", "min"]), z.custom((value) => typeof value === "function")]).optional(),
    requireSuccess: flag(),
    maxConcurrency: z.number().int().positive().optional(),
    cleanupLosers: flag(),
    promoteWinner: flag(),
    captureFiles: z.union([z.boolean(), z.string()]).optional(),
    ttlSeconds: seconds({ least: 0 })(),
    onOutcome: callback(),
  }),
);
