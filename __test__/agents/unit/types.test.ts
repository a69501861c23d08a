// Types are checked by `make lint`; the assertions below do nothing at run time.
import type { InferUITools, ToolLoopAgent } from "ai";
import { expectTypeOf, test } from "vitest";
import type { RunCodeOutput, RunCodeTool } from "../../../lib/agents/ai.js";

type Tools = { run_code: RunCodeTool };

test("input and output reach the parts of a user interface message", () => {
  expectTypeOf<InferUITools<Tools>["run_code"]>().toEqualTypeOf<{ input: { code: string }; output: RunCodeOutput }>();
});

test("the tool fits an agent", () => {
  expectTypeOf<ToolLoopAgent<never, Tools>>().not.toBeNever();
});
