import type { Execution } from "../execution.js";
import type { Result } from "../result.js";

/** What is said around the output of a cell. */
export interface ExecutionTextOptions {
  /** Most characters (UTF-16 units) of the whole text. Default 20000. */
  maxOutputChars?: number;
  /** Said first, on a line of its own: what happened to the kernel. */
  notice?: string | undefined;
  /** Said as the error when there is no traceback: why the cell did not end. */
  failure?: string | undefined;
}

interface Section {
  label: string;
  body: string;
}

const DEFAULT_MAX_OUTPUT_CHARS = 20_000;

/**
 * What the model reads of an execution: the error first, then standard output, standard error and results.
 *
 * The same execution always gives the same text. Of what is too long the head and the tail are kept, and a marker says how
 * much was left out. Images and tables appear as a marker.
 */
export function executionText(execution: Execution, options: ExecutionTextOptions = {}): string {
  const maxChars = options.maxOutputChars ?? DEFAULT_MAX_OUTPUT_CHARS;
  const notice = options.notice === undefined ? "" : `${options.notice}\n\n`;
  const sections = fitted(sectionsOf(execution, options), maxChars - notice.length);
  const text = sections.map(({ label, body }) => label + body).join("\n\n");
  // Labels alone can be too long when there are very many results.
  return shortened(notice + (text || "(no output)"), Math.max(maxChars, notice.length));
}

function sectionsOf(execution: Execution, options: ExecutionTextOptions): Section[] {
  const error = [execution.error, options.failure].filter((part) => part !== undefined && part !== "").join("\n\n");
  const sections: Section[] = [];
  if (error !== "") sections.push({ label: "ERROR:\n", body: error });
  if (execution.stdout !== "") {
    sections.push({ label: error === "" ? "" : "stdout:\n", body: execution.stdout.trimEnd() });
  }
  if (execution.stderr !== "") sections.push({ label: "[stderr]\n", body: execution.stderr.trimEnd() });
  sections.push(...execution.results.flatMap(resultSections));
  if (execution.truncated) sections.push({ label: "", body: "[output] too long: the sandbox kept only its head and tail" });
  return sections.filter((section) => section.label !== "" || section.body !== "");
}

function resultSections({ data }: Pick<Result, "data">): Section[] {
  const image = Object.keys(data).find((mime) => mime.startsWith("image/"));
  if (image !== undefined) return [{ label: "[chart] ", body: `${image} produced` }];
  const sections: Section[] = [];
  const text = textOf(data);
  if (text !== undefined) sections.push({ label: "[result] ", body: text });
  const html = data["text/html"];
  if (html !== undefined) {
    const kind = html.includes("<table") ? "table" : "html";
    sections.push({ label: `[${kind}] `, body: `HTML of ${html.length} characters produced` });
  }
  return sections;
}

function textOf(data: Result["data"]): string | undefined {
  const mime = ["text/plain", "text/markdown", "text/latex", "application/json"].find((known) => data[known] !== undefined);
  return mime && data[mime];
}

/** Cuts the longest sections until all fit: short ones stay whole, long ones share what is left. */
function fitted(sections: Section[], maxChars: number): Section[] {
  const overhead = sections.reduce((sum, { label }) => sum + label.length + 2, 0);
  const limits = shares(
    sections.map(({ body }) => body.length),
    Math.max(0, maxChars - overhead),
  );
  return sections.map(({ label, body }, index) => ({ label, body: shortened(body, limits[index] ?? 0) }));
}

/** Splits `budget` over `wanted` so that nobody gets more than wanted and whoever gets less gets as much as any other. */
function shares(wanted: number[], budget: number): number[] {
  const granted = wanted.map(() => 0);
  const order = wanted.map((_, index) => index).sort((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0));
  let left = budget;
  order.forEach((index, position) => {
    const share = Math.min(wanted[index] ?? 0, Math.floor(left / (order.length - position)));
    granted[index] = share;
    left -= share;
  });
  return granted;
}

/** Head and tail of `text` in at most `maxChars`, with a marker between them that says how many characters are missing. */
export function shortened(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const marker = (missing: number) => `\n[… ${missing} characters left out …]\n`;
  const room = maxChars - marker(text.length).length;
  if (room <= 0) return marker(text.length).trim().slice(0, Math.max(0, maxChars));
  const head = whole(text, Math.ceil(room / 2));
  const tail = whole(text, text.length - Math.floor(room / 2));
  return text.slice(0, head) + marker(tail - head) + text.slice(tail);
}

/** Moves a cut so that it does not split a surrogate pair. */
function whole(text: string, cut: number): number {
  const unit = text.charCodeAt(cut);
  return unit >= 0xdc00 && unit <= 0xdfff ? cut - 1 : cut;
}
