/**
 * A form with one file, piece by piece: a file of any size is never held in memory.
 *
 * @internal
 */
import { randomUUID } from "node:crypto";

/** The file of a form. */
export interface FormFile {
  /** Field of the form. */
  field: string;
  /** Its name, as the server is told. */
  filename: string;
  /** Media type. */
  contentType: string;
  /** Its bytes. */
  pieces: AsyncIterable<Uint8Array>;
}

/** Content type and body of the form. */
export function multipart(
  fields: [string, string][],
  file: FormFile,
): { contentType: string; pieces: AsyncGenerator<Uint8Array, void, undefined> } {
  const boundary = `pandastack-${randomUUID()}`;
  return { contentType: `multipart/form-data; boundary=${boundary}`, pieces: encoded(boundary, fields, file) };
}

async function* encoded(
  boundary: string,
  fields: [string, string][],
  { field, filename, contentType, pieces }: FormFile,
): AsyncGenerator<Uint8Array, void, undefined> {
  const begin = (name: string) => `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"`;
  const head = fields.map(([name, value]) => `${begin(name)}\r\n\r\n${value}\r\n`).join("");
  yield Buffer.from(`${head}${begin(field)}; filename="${quoted(filename)}"\r\nContent-Type: ${contentType}\r\n\r\n`);
  yield* pieces;
  yield Buffer.from(`\r\n--${boundary}--\r\n`);
}

/** As browsers do. */
function quoted(name: string): string {
  return name.replace(/\r/g, "%0D").replace(/\n/g, "%0A").replace(/"/g, "%22");
}
