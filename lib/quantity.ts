/**
 * Numbers with a unit. A wrong one is refused with the unit that was meant.
 *
 * @internal
 */
import type { z } from "zod/v4";
import { type Schema, schema } from "./schema.js";

/** Which numbers fit. */
interface Range {
  /** The number must be larger. */
  moreThan?: number;
  /** The least number. */
  least?: number;
  /** The largest number. */
  most?: number;
}

type Quantity = Schema<z.ZodOptional<z.ZodCustom<number, number>>>;

/** A time in seconds; fractions are fine. */
export const seconds = (range: Range): Quantity => quantity("seconds", false, range);

/** A time in whole seconds. */
export const wholeSeconds = (range: Range): Quantity => quantity("seconds", true, range);

/** A time in whole milliseconds. */
export const milliseconds = (range: Range): Quantity => quantity("milliseconds", true, range);

/** A size in bytes. */
export const bytes = (range: Range): Quantity => quantity("bytes", true, range);

function quantity(unit: string, whole: boolean, range: Range): Quantity {
  const problem = (value: unknown) => problemOf(value, unit, whole, range);
  return schema((z) =>
    z
      .custom<number>((value) => !problem(value), { error: ({ input }) => problem(input) ?? `must be a number of ${unit}` })
      .optional(),
  );
}

/** Undefined: there is none. */
function problemOf(value: unknown, unit: string, whole: boolean, { moreThan, least, most }: Range): string | undefined {
  const given = typeof value === "number" ? value : Number.NaN;
  const fits = Number.isFinite(given) && (!whole || Number.isInteger(given));
  if (!fits || (moreThan !== undefined && given <= moreThan) || (least !== undefined && given < least)) {
    const number = `${whole ? "whole " : ""}number of ${unit}`;
    return `must be a ${moreThan === undefined ? "" : "positive "}${number}, not: \`${shown(value)}\``;
  }
  if (most === undefined || given <= most) return undefined;
  const meant = unit === "seconds" ? `; if milliseconds were meant, pass \`${given / 1000}\`` : "";
  return `must be at most ${most} ${unit}, not: \`${given}\`${meant}`;
}

function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
