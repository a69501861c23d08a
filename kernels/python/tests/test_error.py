"""Errors: text, line, exit codes; things that crash naive kernels."""

import pytest


def test_syntax_error_has_a_caret(kernel):
    error = kernel.run("x = 1\nx = = 2").error
    assert error["name"] == "SyntaxError" and error["line"] == 2
    assert error["text"].splitlines()[:3] == ['  File "<cell 1>", line 2', "    x = = 2", "        ^"]
    assert error["text"].endswith("SyntaxError: invalid syntax")


@pytest.mark.parametrize("code", ["if 1:\nx", "return 1", "x = (", "'abc", "  x = 1\n y = 2", "%%nosuch\n1", "f(**)"])
def test_code_that_cannot_run_is_an_error(kernel, code):
    execution = kernel.run(code)
    assert execution.status == "error" and execution.error["text"]
    assert kernel.run("1+1").text == "2"


def test_chained_exceptions_and_groups(kernel):
    text = kernel.run("try:\n    1/0\nexcept Exception as e:\n    raise ValueError('outer') from e").error["text"]
    assert "ZeroDivisionError: division by zero" in text and "direct cause" in text
    assert text.endswith("ValueError: outer")
    text = kernel.run("raise ExceptionGroup('two', [ValueError('a'), KeyError('b')])").error["text"]
    assert "ValueError: a" in text and "KeyError: 'b'" in text and "ExceptionGroup: two (2 sub-exceptions)" in text


def test_frames_show_the_source_of_earlier_cells(kernel):
    kernel.run("def f(x):\n    return 1 / x")
    error = kernel.run("a = 1\nf(0)").error
    assert error["line"] == 2
    assert 'File "<cell 1>", line 2, in f\n    return 1 / x' in error["text"]
    assert 'File "<cell 2>", line 2, in <module>\n    f(0)' in error["text"]
    assert "IPython" not in error["text"]


def test_exception_whose_str_raises(kernel):
    error = kernel.run("class E(Exception):\n    def __str__(self): raise KeyError('x')\nraise E()").error
    assert error["name"] == "E" and "str() failed" in error["text"]


def test_library_frames_stay(kernel):
    assert "json/decoder.py" in kernel.run("import json\njson.loads('{')").error["text"]


@pytest.mark.parametrize(
    ("code", "exit_code", "status"),
    [
        ("import sys; sys.exit(3)", 3, "error"),
        ("exit()", 0, "ok"),
        ("quit(2)", 2, "error"),
        ("raise SystemExit", 0, "ok"),
    ],
)
def test_exit_ends_the_cell_not_the_kernel(kernel, code, exit_code, status):
    kernel.run("x = 5")
    execution = kernel.run(code)
    assert (execution.exit_code, execution.status, execution.stderr) == (exit_code, status, "")
    assert (execution.error is None) == (exit_code == 0)
    assert kernel.run("x").text == "5"


def test_exit_with_a_message(kernel):
    execution = kernel.run("import sys; sys.exit('no data')")
    assert (execution.exit_code, execution.stderr) == (1, "no data\n")
    assert execution.error["text"].endswith("SystemExit: no data")


def test_deep_recursion_is_an_error(kernel):
    kernel.run("def f(): return f()\ndef a(): return b()\ndef b(): return a()")
    for call in ("f()", "a()"):
        error = kernel.run(call).error
        assert error["name"] == "RecursionError" and len(error["text"]) < 100_000
    assert kernel.run("1").text == "1"


@pytest.mark.parametrize("code", ["x = 'a\0b'", "(" * 5000, "-" * 100_000 + "1", "x = " + "[" * 90 + "]" * 90])
def test_odd_code_does_not_end_the_kernel(kernel, code):
    assert kernel.run(code).status in ("ok", "error")
    assert kernel.run("1").text == "1"


def test_code_of_20_megabytes(kernel):
    lines = "".join(f"x{i % 50} = {i}\n" for i in range(200_000))
    text = "é" * 9_000_000
    assert kernel.run(f"{lines}text = '{text}'\nx49, len(text)").text == "(199999, 9000000)"


def test_non_ascii_code(kernel):
    execution = kernel.run("größe = 'é😀漢'\nprint(größe)\ngröße")
    assert (execution.stdout, execution.text) == ("é😀漢\n", "'é😀漢'")


def test_formatters_that_fail(kernel):
    execution = kernel.run("class A:\n    def __repr__(self): raise ValueError('no repr')\nA()")
    assert execution.status == "error" and execution.error["text"].endswith("ValueError: no repr")
    execution = kernel.run(
        "class B:\n    def __repr__(self): return 'B!'\n    def _repr_html_(self): raise ValueError('no html')\nB()"
    )
    assert (execution.status, execution.text) == ("ok", "B!")
    assert "ValueError: no html" in execution.stderr


def test_uncaught_error_in_a_thread_goes_to_stderr(kernel):
    execution = kernel.run("import threading\nt = threading.Thread(target=lambda: 1/0)\nt.start(); t.join()")
    assert execution.status == "ok" and "ZeroDivisionError" in execution.stderr


def test_input_is_refused_at_once(kernel):
    for code in ("input('name?')", "import getpass; getpass.getpass()"):
        error = kernel.run(code).error
        assert error["name"] == "EOFError" and "variable" in error["value"]
    assert kernel.run("import sys; sys.stdin.read()").text == "''"
    assert kernel.run("!cat").status == "ok"


def test_huge_error_is_shortened_visibly(kernel):
    error = kernel.run("raise ValueError('x' * 150_000_000)").error
    assert len(error["value"]) < 2_000_000 and len(error["text"]) < 3_000_000
    assert "characters left out" in error["text"] and error["text"].endswith("x")
    assert kernel.run("1").text == "1"


@pytest.mark.parametrize(
    "code",
    [
        "raise SyntaxError('x', ('<cell 1>', -5, 1, 't'))",
        "raise SyntaxError('x', ('<cell 1>', 'abc', 1, 't'))",
        "class M(type):\n    __name__ = property(lambda cls: 5)\nclass E(Exception, metaclass=M): pass\nraise E('x')",
        "e = ValueError(); e.__context__ = e2 = KeyError(); e2.__context__ = e\nraise e",
        "e = ValueError('x'); e.add_note('note'); e.__notes__.append(5)\nraise e",
    ],
)
def test_odd_exceptions_keep_the_types_of_the_protocol(kernel, code):
    error = kernel.run(code).error
    assert all(type(error[name]) is str for name in ("name", "value", "text"))
    assert error.get("line", 1) >= 1


def test_debuggers_end_at_once(kernel):
    kernel.run("def f(): 1/0\ntry: f()\nexcept Exception: pass")
    assert kernel.run("breakpoint()\n1").status in ("ok", "error")
    kernel.run("f()")
    assert kernel.run("%debug").status == "ok"
    assert kernel.run("1").text == "1"
