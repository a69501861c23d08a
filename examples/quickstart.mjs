// From a CSV file to a chart: what an agent does with a sandbox, step by step.
// Run it with PANDASTACK_API=local (the engine of this package), or with PANDASTACK_API_KEY set (the hosted service).
import { mkdirSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Sandbox } from "@pandastack/sdk";

const data = fileURLToPath(new URL("data/mauna_loa_co2.csv", import.meta.url));
const chartFile = fileURLToPath(new URL("../out/chart.png", import.meta.url));

const sandbox = await Sandbox.create({ template: "code-interpreter", ttlSeconds: 600, metadata: { example: "quickstart" } });
try {
  console.log(`sandbox ${sandbox.id} is ${sandbox.status}`);
  await sandbox.filesystem.upload(data, "/root/co2.csv");
  const kernel = await sandbox.createCodeContext();

  step("Load the file and compute: variables stay in the kernel");
  const table = await kernel.runCode(`
import pandas as pd
co2 = pd.read_csv("/root/co2.csv", comment="#")
print(f"{len(co2)} years, {co2['year'].min()} to {co2['year'].max()}; ppm at the start and end of each decade:")
decades = co2[co2["year"] >= 1960].groupby(co2["year"] // 10 * 10).agg(
    first=("mean", "first"), last=("mean", "last"), years=("year", "count"))
decades["rise per year"] = ((decades["last"] - decades["first"]) / (decades["years"] - 1)).round(2)
decades`);
  console.log(table.stdout + table.text);

  step("A mistake: the traceback is a result, not an exception");
  const draw = `
import matplotlib.pyplot as plt
plt.figure(figsize=(8, 4.5))
plt.plot(co2["year"], co2["ppm"])
plt.title("Carbon dioxide at Mauna Loa")
plt.xlabel("year")
plt.ylabel("ppm")
plt.grid(alpha=0.3)
plt.show()`;
  const failed = await kernel.runCode(draw);
  console.log(essence(failed.error));

  step("An agent reads it, looks at the columns, repairs its code");
  const columns = await kernel.runCode("list(co2.columns)");
  console.log(columns.text);
  const repaired = await kernel.runCode(draw.replace('co2["ppm"]', 'co2["mean"]'));

  const chart = repaired.results.find((result) => result.png !== undefined);
  if (!chart) throw new Error(`the cell drew no chart: ${repaired.error ?? "no error either"}`);
  mkdirSync(new URL("../out/", import.meta.url), { recursive: true });
  await chart.save(chartFile);
  console.log(`\n${relative(process.cwd(), chartFile)}`);
} finally {
  await sandbox.kill();
}

function step(title) {
  console.log(`\n# ${title}`);
}

/** Of a traceback the line of the cell and the error; a model gets all of it. */
function essence(traceback) {
  const lines = traceback.trimEnd().split("\n");
  const start = lines.findIndex((line) => line.includes('File "<cell'));
  return [...lines.slice(start, start + 3), "  …", lines.at(-1)].join("\n");
}
