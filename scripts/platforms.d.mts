/** A platform with a package of its own. */
export interface Platform {
  name: string;
  target: string;
  os: string;
  cpu: string;
  libc?: string;
}
/** All of them. */
export const PLATFORMS: Platform[];
/** `package.json` of a platform's package. */
export function manifestOf(
  platform: Platform,
  main: unknown,
): { name: string; version: string; os: string[]; cpu: string[]; libc?: string[] };
