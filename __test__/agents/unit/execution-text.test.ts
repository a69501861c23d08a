import { describe, expect, test } from "vitest";
import { executionText, shortened } from "../../../lib/agents/execution-text.js";
import { execution } from "../fake-sandbox.js";

describe("executionText", () => {
  test("nothing", () => {
    expect(executionText(execution())).toBe("(no output)");
  });

  test("output, errors and results, in this order", () => {
    const text = executionText(
      execution({
        stdout: "loaded\n",
        stderr: "careful\n",
        results: [
          { data: { "text/plain": "   a\n0  1", "text/html": "<table></table>" } },
          { data: { "text/plain": "<Figure size 640x480 with 1 Axes>", "image/png": "aGk=" } },
          { data: { "text/plain": "42" }, isMain: true },
        ],
      }),
    );
    expect(text).toBe(
      [
        "loaded",
        "[stderr]\ncareful",
        "[result]    a\n0  1",
        "[table] HTML of 15 characters produced",
        "[chart] image/png produced",
        "[result] 42",
      ].join("\n\n"),
    );
  });

  test("a traceback comes first", () => {
    const text = executionText(execution({ stdout: "start\n", error: "Traceback …\nZeroDivisionError: division by zero" }));
    expect(text).toBe("ERROR:\nTraceback …\nZeroDivisionError: division by zero\n\nstdout:\nstart");
  });

  test("the notice precedes everything, the failure counts as error", () => {
    const text = executionText(execution({ stdout: "so far" }), { notice: "[kernel restarted]", failure: "stopped" });
    expect(text).toBe("[kernel restarted]\n\nERROR:\nstopped\n\nstdout:\nso far");
  });

  test("of several types the text is shown, else markdown, LaTeX or JSON", () => {
    const results = [{ data: { "application/json": '{"a":[1]}' } }, { data: { "text/latex": "$x$", "text/plain": "x" } }];
    expect(executionText(execution({ results }))).toBe('[result] {"a":[1]}\n\n[result] x');
  });

  test("base64 never gets in", () => {
    const png = "A".repeat(60_000);
    expect(executionText(execution({ results: [{ data: { "image/png": png } }] }))).toBe("[chart] image/png produced");
  });

  test("says that the sandbox cut the output", () => {
    expect(executionText(execution({ stdout: "a", truncated: true }))).toContain("[output] too long");
  });

  test("long output is cut, the traceback is kept", () => {
    const text = executionText(execution({ stdout: "x".repeat(100_000), error: "NameError: y" }), { maxOutputChars: 1000 });
    expect(text.length).toBeLessThanOrEqual(1000);
    expect(text).toContain("NameError: y");
    expect(text).toMatch(/x\n\[… \d+ characters left out …\]\nx/);
  });

  test.each([0, 1, 40, 100, 5000])("%i characters are a limit whatever comes", (maxOutputChars) => {
    const results = Array.from({ length: 2000 }, (_, index) => ({ data: { "text/plain": `value ${index}` } }));
    const all = execution({ stdout: "o".repeat(9000), stderr: "e".repeat(9000), error: "t".repeat(9000), results });
    expect(executionText(all, { maxOutputChars }).length).toBeLessThanOrEqual(maxOutputChars);
  });
});

describe("shortened", () => {
  test("what fits stays", () => {
    expect(shortened("abc", 3)).toBe("abc");
  });

  test("the marker counts exactly what is missing", () => {
    const text = Array.from({ length: 5000 }, (_, index) => String(index % 10)).join("");
    const short = shortened(text, 200);
    const [head = "", missing = "", tail = ""] = short.split(/\n\[… (\d+) characters left out …\]\n/);
    expect(short.length).toBeLessThanOrEqual(200);
    expect(head.length + Number(missing) + tail.length).toBe(5000);
    expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
  });

  test.each([100, 101, 102, 103])("a pair of surrogates is never split: %i", (limit) => {
    const short = shortened("😀".repeat(500), limit);
    expect(Buffer.from(short).toString()).toBe(short);
  });
});
