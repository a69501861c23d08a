"""Processes: forks, multiprocessing, the end of a kernel, what the zygote leaves behind."""

import json
import os
import signal
import time

import pytest


def ended(zygote, kernel) -> int:
    message = zygote.control.receive()
    assert (message["type"], message["pid"]) == ("exited", kernel.pid)
    return message["exit_code"]


@pytest.fixture
def mortal(zygote, tmp_path):
    process = zygote.fork(cwd=str(tmp_path))
    yield process
    process.close()


def test_forked_child_never_answers(kernel):
    execution = kernel.run(
        "import os, sys, time\npid = os.fork()\nif pid == 0: print('child')\nelse: os.waitpid(pid, 0)\n'v'"
    )
    assert [r["data"] for r in execution.results] == [{"text/plain": "'v'"}]
    assert "child\n" in execution.stdout
    assert kernel.run("os.getpid()").text == str(kernel.pid)


def test_forked_child_ends_like_a_script(kernel):
    code = "import os, sys\npid = os.fork()\nif pid == 0: {}\nelse: status = os.waitpid(pid, 0)[1]\n"
    for action, exit_code in (("pass", 0), ("sys.exit(3)", 3), ("1/0", 1), ("raise SystemExit('x')", 1)):
        execution = kernel.run(code.format(action) + "pid and os.waitstatus_to_exitcode(status)")
        assert execution.text == str(exit_code), action
        assert ("ZeroDivisionError" in execution.stderr) == (action == "1/0")


def test_forked_child_of_an_awaiting_cell_ends(kernel):
    code = """
import asyncio, os
await asyncio.sleep(0)
pid = os.fork()
if pid == 0:
    await asyncio.sleep(0.01)
    print("wrong")
else:
    os.waitpid(pid, 0)
    await asyncio.sleep(0.01)
"parent"
"""
    execution = kernel.run(code)
    assert (execution.text, execution.stdout) == ("'parent'", "")
    assert kernel.run("await asyncio.sleep(0.01, 'again')").text == "'again'"


def test_forked_child_can_use_asyncio_and_display(kernel):
    code = """
import asyncio, os
pid = os.fork()
if pid == 0:
    print(asyncio.run(asyncio.sleep(0, 'ran')))
    display('shown')
    os._exit(0)
os.waitpid(pid, 0)[1]
"""
    execution = kernel.run(code)
    assert (execution.stdout, execution.text, len(execution.results)) == ("ran\n'shown'\n", "0", 1)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(kernel, method):
    code = f"import multiprocessing as m, math\nwith m.get_context('{method}').Pool(2) as pool: r = pool.map(math.sqrt, [1, 4])\nr"
    assert kernel.run(code).text == "[1.0, 2.0]"


def test_functions_of_cells_in_processes(kernel):
    kernel.run("def square(x):\n    print('in', x)\n    return x * x")
    execution = kernel.run(
        "from concurrent.futures import ProcessPoolExecutor\nimport multiprocessing\n"
        "with ProcessPoolExecutor(2, multiprocessing.get_context('fork')) as pool: r = list(pool.map(square, [2, 3]))\nr"
    )
    assert execution.text == "[4, 9]" and sorted(execution.stdout.splitlines()) == ["in 2", "in 3"]


def test_children_have_default_signals(kernel):
    # Python itself ignores SIGPIPE and SIGXFSZ when it starts.
    code = (
        "import signal; print([s.name for s in signal.Signals if signal.getsignal(s) == signal.SIG_IGN"
        " and s.name not in ('SIGPIPE', 'SIGXFSZ')], signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    )
    assert (
        kernel.run(f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {code!r}]); None").stdout
        == "[] set()\n"
    )


def test_children_inherit_no_descriptors(kernel):
    assert kernel.run("!ls /proc/self/fd | wc -l").stdout.strip() == "4"


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        ("import os; os._exit(7)", 7),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV),
        ("import os; os.abort()", -signal.SIGABRT),
    ],
)
def test_cell_that_ends_its_kernel_is_reported(zygote, mortal, code, exit_code):
    mortal.start(code)
    assert ended(zygote, mortal) == exit_code


def test_closing_the_socket_ends_the_kernel(zygote, mortal):
    mortal.run("import atexit\natexit.register(lambda: open('/tmp/kernel-atexit', 'w').close())")
    mortal.control.socket.close()
    assert ended(zygote, mortal) == 0
    os.unlink("/tmp/kernel-atexit")


def test_closing_the_socket_ends_an_awaiting_cell(zygote, mortal):
    mortal.start("import asyncio\nawait asyncio.sleep(300)")
    time.sleep(0.3)
    mortal.control.socket.close()
    assert ended(zygote, mortal) == 0


def test_threads_do_not_keep_a_kernel(zygote, mortal):
    mortal.run("import threading, time\nthreading.Thread(target=time.sleep, args=(300,)).start()")
    mortal.control.socket.close()
    assert ended(zygote, mortal) == 0


def test_cell_that_closes_the_control_socket_ends_only_its_kernel(zygote, mortal):
    mortal.start("import os; os.closerange(3, 1024)")
    assert ended(zygote, mortal) != 0


def test_user_signals_do_not_end_the_zygote(zygote, kernel):
    for name in (
        "SIGTERM",
        "SIGINT",
        "SIGHUP",
        "SIGUSR1",
        "SIGUSR2",
        "SIGQUIT",
        "SIGALRM",
        "SIGPIPE",
        "SIGCHLD",
        "SIGTSTP",
    ):
        kernel.run(f"import os, signal; os.kill(os.getppid(), signal.{name})")
    second = zygote.fork()
    assert second.run("1").text == "1"
    second.close()
    assert ended(zygote, second) == 0


def test_kernel_is_a_session_of_its_own(kernel):
    assert kernel.run("import os; (os.getsid(0), os.getpgid(0)) == (os.getpid(),) * 2").text == "True"


def test_nothing_of_the_zygote_is_visible(kernel):
    code = """
import sys, json
print(json.dumps([__name__, sys.argv, sys.path[0], sorted(n for n in globals() if n not in dir(__builtins__)),
                  sys.modules['__main__'].__dict__ is globals(), sys.stdin.fileno(), sys.stdout.fileno()]))
"""
    name, argv, first_path, names, is_main, stdin, stdout = json.loads(kernel.run(code).stdout)
    assert (name, argv, first_path, is_main, stdin, stdout) == ("__main__", [""], "", True, 0, 1)
    allowed = {"In", "Out", "exit", "quit", "get_ipython", "open", "sys", "json", "__builtin__", "__builtins__"}
    assert {n for n in names if not n.startswith("_")} <= allowed
    assert kernel.run("import os; 'PYTHONPATH' in os.environ").text == "False"
    assert kernel.run("del os\n%who_ls").text == "['json', 'sys']"


def test_modules_in_the_working_directory_are_importable(kernel):
    kernel.run("open('mine.py', 'w').write('value = 5')")
    assert kernel.run("import mine; mine.value").text == "5"


def test_pickle_and_dataclasses_find_main(kernel):
    kernel.run("import pickle, dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int\ndef f(): return 3")
    assert kernel.run("pickle.loads(pickle.dumps(P(1))), pickle.loads(pickle.dumps(f))()").text == "(P(x=1), 3)"
    assert kernel.run("import inspect; inspect.getsource(f)").text == r"'def f(): return 3\n'"


def test_kernels_draw_different_random_numbers(zygote, kernel):
    other = zygote.fork()
    code = "import random; random.random()"
    assert kernel.run(code).text != other.run(code).text
    other.close()
    assert ended(zygote, other) == 0


def test_many_kernels_in_parallel(zygote):
    kernels = [zygote.fork() for _ in range(10)]
    started = [kernel.start(f"x = {number}\nimport time; time.sleep(0.05)\nx") for number, kernel in enumerate(kernels)]
    assert [kernel.wait(execution).text for kernel, execution in zip(kernels, started, strict=True)] == [
        str(number) for number in range(10)
    ]
    for kernel in kernels:
        kernel.close()
    assert {zygote.control.receive()["pid"] for _ in kernels} == {kernel.pid for kernel in kernels}


def test_nothing_is_written_to_the_home_folder(tmp_path):
    from agent import Zygote

    zygote = Zygote(env={"HOME": str(tmp_path), "MPLCONFIGDIR": str(tmp_path / "mpl")})
    kernel = zygote.fork()
    assert kernel.run("%history\n1").text == "1"
    kernel.close()
    zygote.close()
    assert {entry.name for entry in tmp_path.iterdir()} <= {"mpl", ".cache"}
