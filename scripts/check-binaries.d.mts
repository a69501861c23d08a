/** What is wrong with a built file of a platform; empty if nothing is. */
export function problemsOf(platform: object | undefined, file: string): string[];
