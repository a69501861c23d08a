/** Packs into `folder` what `builds` names; paths of the tarballs, the main package last. */
export function pack(folder: string, builds: Record<string, string>): string[];
/** What `make build` made: the folder of this machine's platform, by its name. */
export function hostBuild(): Record<string, string>;
