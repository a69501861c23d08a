"""The official Python package, unmodified, against the local engine over TCP."""

import base64

import pytest
from pandastack import Sandbox
from pandastack.exceptions import NotFoundError, SandboxTimeout


def test_universal_pattern(sandbox):
    ctx = sandbox.create_code_context()

    def run_python(code: str) -> str:
        ex = ctx.run_code(code)
        if ex.error:
            return ex.error
        return ex.text or ex.stdout

    assert run_python("x = 41") == ""
    assert run_python("x + 1") == "42"
    assert run_python("1/0").rstrip().endswith("ZeroDivisionError: division by zero")
    assert run_python("print('é😀漢')") == "é😀漢\n"
    chart = ctx.run_code("import matplotlib.pyplot as plt; plt.plot([1, 2, 3]); plt.show()")
    assert base64.b64decode(chart.png).startswith(b"\x89PNG\r\n\x1a\n")
    table = ctx.run_code("import pandas as pd; pd.DataFrame({'a': [1, 2]})")
    assert any(result.html and "<table" in result.html for result in table.results)
    ctx.close()


def test_exec(sandbox):
    result = sandbox.exec("echo out; echo err >&2; exit 3")
    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 3)


def test_exec_timeout(sandbox):
    with pytest.raises(SandboxTimeout):
        sandbox.exec("sleep 30", timeout_seconds=1)


def test_exec_stream(sandbox):
    lines = []
    code = sandbox.exec_stream("for i in 1 2 3; do echo é$i; done; exit 7", on_stdout=lines.append)
    assert ("".join(lines), code) == ("é1\né2\né3\n", 7)


def test_files(sandbox):
    data = bytes(range(256))
    sandbox.filesystem.write("/root/folder/bytes.bin", data)
    assert sandbox.filesystem.read("/root/folder/bytes.bin") == data
    assert [entry.name for entry in sandbox.filesystem.listdir("/root/folder")] == ["bytes.bin"]
    assert sandbox.filesystem.stat("/root/folder/bytes.bin").size == 256
    assert not sandbox.filesystem.exists("/root/none")
    with pytest.raises(NotFoundError):
        sandbox.filesystem.read("/root/none")


def test_list_and_lifecycle(sandbox):
    assert sandbox.id in [found.id for found in Sandbox.list()]
    assert sandbox.lifecycle()["ttl_seconds"] == 3600


def test_install_packages_on_demand(sandbox):
    ctx = sandbox.create_code_context()
    install = ctx.run_code("!pip install tomli", timeout_seconds=25)
    assert not install.error
    assert ctx.run_code("import tomli; print(tomli.__name__)").stdout == "tomli\n"
