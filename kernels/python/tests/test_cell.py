"""Cells: values, state, errors."""


def test_keeps_state_and_returns_the_value(kernel):
    assert kernel.run("x = 41").status == "ok"
    execution = kernel.run("x + 1")
    assert execution.text == "42"
    assert (execution.status, execution.exit_code, execution.execution_count) == ("ok", 0, 2)


def test_error_is_plain_text(kernel):
    execution = kernel.run("x = 1\n1/0")
    error = execution.error
    assert (execution.status, execution.exit_code) == ("error", 1)
    assert (error["name"], error["value"], error["line"]) == ("ZeroDivisionError", "division by zero", 2)
    assert error["text"].startswith(
        'Traceback (most recent call last):\n  File "<cell 1>", line 2, in <module>\n    1/0'
    )
    assert error["text"].endswith("ZeroDivisionError: division by zero")
    assert "pandastack_kernel" not in error["text"] and "\x1b" not in error["text"]
