/**
 * One displayed object.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, extname } from "node:path";
import { InvalidOptionError } from "./errors.js";

/** Types in the order in which {@link Result.bytes} and {@link Result.save} look for them. */
const EXTENSIONS: Record<string, string> = {
  "image/png": ".png",
  "image/jpeg": ".jpg",
  "image/svg+xml": ".svg",
  "application/pdf": ".pdf",
  "image/gif": ".gif",
  "image/webp": ".webp",
  "text/html": ".html",
  "text/markdown": ".md",
  "text/latex": ".tex",
  "application/json": ".json",
  "application/javascript": ".js",
  "text/plain": ".txt",
};

const CHART = "application/vnd.pandastack.chart+json";
const DATAFRAME = "application/vnd.pandastack.dataframe+json";

/** The data of a figure, as far as it could be read. */
export interface Chart {
  /** `line`, `scatter`, `bar`, `pie`, `box_and_whisker`, `superchart` or `unknown`. */
  type: string;
  /** Title of the figure. */
  title?: string | null;
  /** What it shows; the shape depends on `type`. */
  elements?: unknown[];
  [key: string]: unknown;
}

/** The data of a table, at most 100 rows and 50 columns of it. */
export interface DataFrame {
  /** Columns in order. */
  columns: {
    /** Its label. */
    name: string;
    /** Its type, in pandas' words. */
    dtype: string;
  }[];
  /** Rows in order; the values are in the order of the columns. */
  rows: unknown[][];
  /** Labels of the rows. */
  index?: string[];
  /** Columns of the whole table. */
  column_count?: number;
  /** Rows of the whole table. */
  row_count: number;
  /** True if rows or columns were left out. */
  truncated: boolean;
}

/** One displayed object with all its types. Only the fields of types that it has are present. */
export class Result {
  /** MIME type → content. Images but SVG are base64, JSON is text. */
  readonly data: Record<string, string>;
  /** True for the value of the cell. */
  readonly isMain: boolean;
  /** Text. */
  readonly text?: string;
  /** HTML, for example a table. */
  readonly html?: string;
  /** Markdown. */
  readonly markdown?: string;
  /** SVG source. */
  readonly svg?: string;
  /** PNG as base64. */
  readonly png?: string;
  /** JPEG as base64. */
  readonly jpeg?: string;
  /** PDF as base64. */
  readonly pdf?: string;
  /** LaTeX. */
  readonly latex?: string;
  /** Parsed JSON; the text itself if it is none. */
  readonly json?: unknown;
  /** JavaScript source. */
  readonly javascript?: string;
  /** The data of a figure. From a server that does not send it: the figure as base64 PNG or JPEG, or as SVG source. */
  readonly chart?: Chart | string;
  /** The data of a table. */
  readonly dataframe?: DataFrame;

  constructor(data: Record<string, string>, isMain = false) {
    this.data = data;
    this.isMain = isMain;
    const fields: Record<string, unknown> = {
      text: data["text/plain"],
      html: data["text/html"] || undefined,
      markdown: data["text/markdown"] || undefined,
      svg: data["image/svg+xml"] || undefined,
      png: data["image/png"] || undefined,
      jpeg: data["image/jpeg"] || undefined,
      pdf: data["application/pdf"] || undefined,
      latex: data["text/latex"] || undefined,
      json: parsed(data["application/json"]),
      javascript: data["application/javascript"] || undefined,
    };
    fields.chart = parsed(data[CHART]) ?? fields.png ?? fields.jpeg ?? fields.svg;
    fields.dataframe = parsed(data[DATAFRAME]);
    for (const [name, value] of Object.entries(fields)) {
      if (value !== undefined) Object.assign(this, { [name]: value });
    }
  }

  /** MIME types that the object has. */
  formats(): string[] {
    return Object.keys(this.data);
  }

  /**
   * The content as bytes.
   *
   * @param mime - Type to take. Default: the first of PNG, JPEG, SVG, PDF, other images, HTML, Markdown, … that there is.
   * @throws {InvalidOptionError} if the object does not have that type.
   */
  bytes(mime: string = this.#preferred()): Buffer {
    const content = this.data[mime];
    if (content === undefined) {
      throw new InvalidOptionError(`the result has no \`${mime}\`; it has: ${this.formats().join(", ") || "nothing"}`);
    }
    return isBinary(mime) ? Buffer.from(content, "base64") : Buffer.from(content, "utf8");
  }

  /**
   * Writes the content into a local file; missing folders are made.
   *
   * @param path - The file. Its extension chooses the type; without one that is known, see {@link Result.bytes}.
   * @returns The path.
   */
  async save(path: string): Promise<string> {
    const extension = extname(path).toLowerCase().replace(".jpeg", ".jpg").replace(".htm", ".html").replace(".htmll", ".html");
    const mime = Object.keys(EXTENSIONS).find((known) => EXTENSIONS[known] === extension);
    const bytes = this.bytes(mime);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bytes);
    return path;
  }

  #preferred(): string {
    const known = Object.keys(EXTENSIONS).find((mime) => this.data[mime] !== undefined);
    return known ?? this.formats()[0] ?? "text/plain";
  }
}

function isBinary(mime: string): boolean {
  if (mime === "image/svg+xml") return false;
  return mime === "application/pdf" || /^(image|audio|video)\//.test(mime);
}

function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
