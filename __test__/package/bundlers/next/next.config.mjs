export default { serverExternalPackages: ["@pandastack/sdk"] };
