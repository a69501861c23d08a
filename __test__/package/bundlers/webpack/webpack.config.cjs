const path = require("node:path");

module.exports = {
  mode: "production",
  target: "node",
  entry: "./agent.ts",
  output: { path: path.join(__dirname, "built"), filename: "agent.cjs" },
  resolve: { extensions: [".ts", ".js"] },
  module: { rules: [{ test: /\.ts$/, use: "esbuild-loader" }] },
  externals: [/^@pandastack\/sdk(\/.*)?$/],
  externalsType: "commonjs",
};
