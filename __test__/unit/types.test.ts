// What programs written for the published types may rely on; the compiler checks this file.
import Default, {
  type AbortError,
  Client,
  type CodeContext,
  type ErrorCode,
  type ExecResult,
  type Execution,
  type FileInfo,
  type LifecycleInfo,
  type MeInfo,
  PandaStackError,
  type Result,
  type RunningCommand,
  Sandbox,
  type SandboxInfo,
  type TemplateBuild,
} from "@pandastack/sdk";
import { expect, expectTypeOf, test } from "vitest";

test("shapes of 0.9.0", () => {
  expect(Default).toBe(Client);
  expectTypeOf(Sandbox.create).returns.resolves.toEqualTypeOf<Sandbox>();
  expectTypeOf<Sandbox["info"]>().toEqualTypeOf<SandboxInfo>();
  expectTypeOf<SandboxInfo["memory_mb"]>().toEqualTypeOf<number>();
  expectTypeOf<Awaited<ReturnType<Sandbox["exec"]>>>().toEqualTypeOf<ExecResult>();
  const started = (sandbox: Sandbox) => sandbox.exec("x", { stream: true });
  expectTypeOf<typeof started>().returns.resolves.toEqualTypeOf<RunningCommand>();
  expectTypeOf<Sandbox["execStream"]>().returns.resolves.toEqualTypeOf<number>();
  expectTypeOf<Sandbox["setTtl"]>().returns.resolves.toEqualTypeOf<LifecycleInfo>();
  expectTypeOf<CodeContext["runCode"]>().returns.resolves.toEqualTypeOf<Execution>();
  expectTypeOf<Execution["error"]>().toEqualTypeOf<string | undefined>();
  expectTypeOf<Execution["exit_code"]>().toEqualTypeOf<number>();
  expectTypeOf<Result["data"]>().toEqualTypeOf<Record<string, string>>();
  expectTypeOf<FileInfo["path"]>().toEqualTypeOf<string>();
});

test("options are checked by the compiler", () => {
  const wrong = () => {
    // @ts-expect-error seconds, not milliseconds
    void Sandbox.create({ ttlMs: 1 });
    // @ts-expect-error labels are strings
    void Sandbox.create({ metadata: { a: 1 } });
    // @ts-expect-error there is no such language
    void ({} as Sandbox).runCode("x", "cobol");
  };
  expect(wrong).toBeTypeOf("function");
});

test("fault 2.45: types say what there is", () => {
  // A union that ends in `string` would be no more than `string`: nothing would be suggested for it.
  expectTypeOf<TemplateBuild["status"]>().not.toEqualTypeOf<string>();
  expectTypeOf<"done">().toExtend<TemplateBuild["status"]>();
  expectTypeOf<Client["previewHost"]>().toEqualTypeOf<string | undefined>();
  expectTypeOf<MeInfo["user_id"]>().toEqualTypeOf<string>();
});

test("errors", () => {
  expectTypeOf<PandaStackError["code"]>().toEqualTypeOf<ErrorCode>();
  expectTypeOf<AbortError>().toExtend<PandaStackError>();
  expect(new PandaStackError("x")).toBeInstanceOf(Error);
});
