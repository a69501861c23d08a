// The platforms that have a package of their own, and what is in it.

/** Rust target, name as in `@pandastack/sdk-<name>`, and npm's conditions. Only Linux has the `pandastack` binary and the agent: the engine needs Linux. */
export const PLATFORMS = [
  { name: "linux-x64-gnu", target: "x86_64-unknown-linux-gnu", os: "linux", cpu: "x64", libc: "glibc" },
  { name: "linux-arm64-gnu", target: "aarch64-unknown-linux-gnu", os: "linux", cpu: "arm64", libc: "glibc" },
  { name: "linux-x64-musl", target: "x86_64-unknown-linux-musl", os: "linux", cpu: "x64", libc: "musl" },
  { name: "linux-arm64-musl", target: "aarch64-unknown-linux-musl", os: "linux", cpu: "arm64", libc: "musl" },
  { name: "darwin-x64", target: "x86_64-apple-darwin", os: "darwin", cpu: "x64" },
  { name: "darwin-arm64", target: "aarch64-apple-darwin", os: "darwin", cpu: "arm64" },
  { name: "win32-x64-msvc", target: "x86_64-pc-windows-msvc", os: "win32", cpu: "x64" },
  { name: "win32-arm64-msvc", target: "aarch64-pc-windows-msvc", os: "win32", cpu: "arm64" },
];

/** Files of a platform's package. */
export function filesOf(platform) {
  const addon = `pandastack.${platform.name}.node`;
  return platform.os === "linux" ? [addon, "pandastack", "pandastack-guest"] : [addon];
}

/** `package.json` of a platform's package: the version is that of the main package, never one of its own. */
export function manifestOf(platform, main) {
  const { version, license, repository, engines } = main;
  const [addon] = filesOf(platform);
  return {
    name: `${main.name}-${platform.name}`,
    version,
    description: `The native part of ${main.name} for ${platform.name}`,
    license,
    repository,
    engines,
    type: "commonjs",
    main: addon,
    files: filesOf(platform),
    os: [platform.os],
    cpu: [platform.cpu],
    ...(platform.libc ? { libc: [platform.libc] } : {}),
    // Yarn keeps packages zipped otherwise, and neither addons nor binaries run out of a zip.
    preferUnplugged: true,
  };
}

/** The platform this process runs on; undefined if it has no package. */
export function hostPlatform() {
  const musl = process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
  return PLATFORMS.find(
    ({ os, cpu, libc }) => os === process.platform && cpu === process.arch && (libc === undefined || (libc === "musl") === musl),
  );
}
