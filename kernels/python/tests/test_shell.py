"""Commands, magics, await, environment."""

import json
import sys

import pytest


def test_commands(kernel):
    execution = kernel.run("!echo out; echo err >&2; exit 3")
    assert (execution.stdout, execution.stderr, execution.status) == ("out\n", "err\n", "ok")
    assert kernel.run("_exit_code").text == "3"
    kernel.run("name = 'a b'")
    assert kernel.run("!echo '{name}' $name").stdout == "a b a b\n"
    assert kernel.run("!echo $HOME").stdout.startswith("/")
    assert kernel.run("x = !printf 'a\\nb'\nx").text == "['a', 'b']"
    assert kernel.run("def f(v):\n    !echo in $v\nf('x')").stdout == "in x\n"


def test_command_output_is_live(kernel):
    started = kernel.start("!echo one; sleep 1; echo two")
    assert kernel.wait(started, until=lambda execution: execution.stdout).stdout == "one\n"
    assert kernel.wait(started).stdout == "one\ntwo\n"


def test_background_command_does_not_block(kernel):
    assert kernel.run("!(sleep 0.3; echo late) &\n").stdout == ""
    assert kernel.run("import time; time.sleep(0.6)").stdout == "late\n"


def test_scripts_and_other_magics(kernel):
    execution = kernel.run("%%bash\nfor i in 1 2; do echo $i; done\necho e >&2")
    assert (execution.stdout, execution.stderr) == ("1\n2\n", "e\n")
    assert kernel.run("%%bash\nexit 4").error["name"] == "CalledProcessError"
    assert "per loop" in kernel.run("%timeit -n 2 -r 1 1+1").stdout
    assert "Wall time" in kernel.run("%%time\nx = 1").stdout
    assert kernel.run("%env FOO=bar").status == "ok"
    assert kernel.run("import os; os.environ['FOO']").text == "'bar'"
    kernel.run("%cd /")
    assert kernel.run("os.getcwd()").text == "'/'"
    assert kernel.run("pwd").text == "'/'"
    kernel.run("%%writefile /tmp/kernel-test.py\nprint('from file', __name__)")
    assert kernel.run("%run /tmp/kernel-test.py").stdout == "from file __main__\n"
    assert kernel.run("%nosuch").error["text"].startswith("UsageError")


def test_pip(kernel, tmp_path):
    package = tmp_path / "source"
    package.mkdir()
    (package / "kernelprobe.py").write_text("value = 3")
    (package / "setup.py").write_text(
        "from setuptools import setup; setup(name='kernelprobe', py_modules=['kernelprobe'])"
    )
    target = tmp_path / "site"
    kernel.run(f"import sys; sys.path.append({str(target)!r})\ntry:\n    import kernelprobe\nexcept ImportError: pass")
    (target / "kernelprobe").mkdir(parents=True)
    (tmp_path / "pip.py").write_text("print('hijacked')")
    execution = kernel.run("%pip --version")
    assert execution.stdout.startswith("pip ")
    kernel.run(f"!cp {package}/kernelprobe.py {target}/ && rmdir {target}/kernelprobe")
    assert kernel.run("import kernelprobe; kernelprobe.value").text == "3"


def test_top_level_await_and_tasks_between_cells(kernel):
    assert kernel.run("import asyncio\nawait asyncio.sleep(0.01, 'woke')").text == "'woke'"
    kernel.run(
        "log = []\nasync def work():\n    await asyncio.sleep(0.2)\n    log.append('done')\ntask = asyncio.create_task(work())"
    )
    import time

    time.sleep(0.5)
    assert kernel.run("log, task.done()").text == "(['done'], True)"
    assert kernel.run("[x async for x in (lambda: (i async for i in agen()))()] if 0 else 1").text == "1"
    assert kernel.run("async with asyncio.timeout(5): r = 2\nr").text == "2"


@pytest.mark.parametrize(
    "code",
    [
        "asyncio.run(asyncio.sleep(0, 'ok'))",
        "asyncio.get_event_loop().run_until_complete(asyncio.sleep(0, 'ok'))",
        "loop = asyncio.new_event_loop()\nasyncio.set_event_loop(loop)\nr = loop.run_until_complete(asyncio.sleep(0, 'ok'))\nloop.close()\nr",
        "with asyncio.Runner() as runner: r = runner.run(asyncio.sleep(0, 'ok'))\nr",
        "loop = asyncio.get_event_loop()\nr = loop.run_until_complete(asyncio.sleep(0, 'ok'))\nloop.close()\nr",
        "import concurrent.futures as c\nc.ThreadPoolExecutor().submit(lambda: asyncio.run(asyncio.sleep(0, 'ok'))).result()",
        "await asyncio.to_thread(lambda: 'ok')",
    ],
)
def test_every_way_to_run_a_coroutine(kernel, code):
    kernel.run("import asyncio")
    for _ in range(2):
        assert kernel.run(code).text == "'ok'"
    assert kernel.run("await asyncio.sleep(0, 1)").text == "1"
    assert kernel.run("t = asyncio.create_task(asyncio.sleep(0, 2))").status == "ok"
    assert kernel.run("await t").text == "2"


def test_errors_of_background_tasks_do_not_end_the_kernel(kernel):
    kernel.run("import asyncio, sys\nasync def bad(): sys.exit(3)\nt = asyncio.create_task(bad())")
    assert kernel.run("import time; time.sleep(0.05); 1").text == "1"
    assert kernel.run("await asyncio.sleep(0.01, 2)").text == "2"


def test_context_variables_live_on(kernel):
    kernel.run("import contextvars, decimal\nv = contextvars.ContextVar('v')\nv.set(1)\ndecimal.getcontext().prec = 5")
    assert kernel.run("import asyncio\nawait asyncio.sleep(0)\nv.get(), decimal.getcontext().prec").text == "(1, 5)"
    kernel.run("await asyncio.sleep(0)\nv.set(2)")
    assert kernel.run("v.get()").text == "2"


def test_environment_of_one_cell(kernel):
    code = "import os; os.environ.get('A'), os.environ.get('HOME')"
    home = eval(kernel.run(code).text)[1]
    assert kernel.run(code, env={"A": 'it\'s "1"\n', "HOME": "/x"}).text == "('it\\'s \"1\"\\n', '/x')"
    assert kernel.run(code).text == repr((None, home))
    kernel.run("os.environ['A'] = 'mine'", env={"A": "2"})
    assert kernel.run("os.environ['A']").text == "'mine'"


def test_environment_that_cannot_be_is_an_error(kernel):
    for env in ({"A": "x\0y"}, {"": "x"}, {"A=B": "x"}, {"A": "\ud800"}):
        execution = kernel.run("1", env={"B": "2", **env})
        assert execution.status == "error" and execution.error["name"] in (
            "ValueError",
            "OSError",
            "UnicodeEncodeError",
        )
        assert kernel.run("import os; 'A' in os.environ, 'B' in os.environ").text == "(False, False)"
    kernel.configure(env={"A": "x\0y"})
    assert "environment variable cannot be set: `'A'`" in kernel.run("1").stderr


def test_configure(kernel, tmp_path):
    kernel.run("import random, os; random.seed(1); state = random.getstate()")
    kernel.configure(env={"ID": "7", "HOME": None}, cwd=str(tmp_path), reseed=True)
    assert kernel.run("os.environ['ID'], os.environ.get('HOME'), os.getcwd()").text == repr(("7", None, str(tmp_path)))
    assert kernel.run("random.getstate() == state").text == "False"


def test_configure_reseeds_numpy(kernel):
    pytest.importorskip("numpy")
    kernel.run("import numpy as np; np.random.seed(1); first = np.random.rand(); np.random.seed(1)")
    kernel.configure(reseed=True)
    assert kernel.run("np.random.rand() == first").text == "False"


def test_missing_folder_is_reported(kernel):
    kernel.configure(cwd="/nonexistent/folder")
    execution = kernel.run("import os; os.getcwd()")
    assert execution.text == "'/'" and "/nonexistent/folder" in execution.stderr


def test_unknown_messages_and_fields_are_ignored(kernel):
    kernel.control.send({"type": "something new", "x": 1})
    assert kernel.run("1", unknown=[1]).text == "1"


def test_history_can_be_left_out(kernel):
    assert kernel.run("1", store_history=False).execution_count == 1
    assert kernel.run("In").text == "['', 'In']"


def test_empty_cells(kernel):
    for code in ("", "  \n", "# only a comment", "\n\n"):
        assert kernel.run(code).status == "ok"


def test_plotly(kernel):
    pytest.importorskip("plotly")
    kernel.run("import plotly.graph_objects as go")
    for code in ("go.Figure(go.Bar(y=[1, 2]), {'title': {'text': 'T'}})", "go.Figure(go.Bar(y=[1, 2])).show()",
                 "import plotly.io as pio\npio.renderers.default = 'browser'\ngo.Figure(go.Bar(y=[1, 2])).show()"):  # fmt: skip
        execution = kernel.run(code)
        assert (execution.status, len(execution.results), execution.stderr) == ("ok", 1, "")
        data = execution.results[0]["data"]
        assert "plotly" in data["text/html"] and json.loads(data["application/json"])["data"][0]["type"] == "bar"
        if "kaleido" in sys.modules or _has("kaleido"):
            assert data["image/png"].startswith("iVBORw0KGgo")


def _has(name: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(name) is not None


def test_plotly_without_a_working_renderer_keeps_the_html(kernel):
    pytest.importorskip("plotly")
    pytest.importorskip("kaleido")
    kernel.run(
        "import plotly.graph_objects as go\ndef broken(*a, **k): raise RuntimeError('no browser')\ngo.Figure.to_image = broken"
    )
    execution = kernel.run("go.Figure(go.Bar(y=[1]))")
    data = execution.results[0]["data"]
    assert "text/html" in data and "image/png" not in data
    assert "no browser" in execution.stderr and execution.results[0]["is_main"]


def test_renderer_of_plotly_ends_before_a_checkpoint(kernel):
    pytest.importorskip("kaleido")
    kernel.run("import plotly.graph_objects as go\ngo.Figure(go.Bar(y=[1]))")
    count = "import subprocess; len(subprocess.run(['pgrep', '-r', 'R,S,D', '-s', '0', 'kaleido'], capture_output=True).stdout.split())"
    assert int(kernel.run(count).text) > 0
    kernel.control.send({"type": "quiesce"})
    assert kernel.control.receive() == {"type": "quiesced"}
    assert kernel.run(count).text == "0"
    assert "image/png" in kernel.run("go.Figure(go.Bar(y=[1]))").results[0]["data"]


def test_reset_and_autoreload(kernel):
    kernel.run("x = 1")
    assert kernel.run("%reset -f").status == "ok"
    assert kernel.run("x").error["name"] == "NameError"
    assert kernel.run("2").text == "2" and kernel.run("exit(4)").exit_code == 4
    kernel.run("%load_ext autoreload\n%autoreload 2\nopen('m.py', 'w').write('v = 1')\nimport m")
    kernel.run("import os; open('m.py', 'w').write('v = 22'); os.utime('m.py', (1, 2_000_000_000))")
    assert kernel.run("m.v").text == "22"
