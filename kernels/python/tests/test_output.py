"""Output: order, descriptors, streams that cells break."""

import pytest


def test_everything_written_to_1_and_2_arrives_in_order(kernel):
    execution = kernel.run(
        """
import os, subprocess, ctypes, sys
print("a", end="")
subprocess.run(["printf", "b"])
os.write(1, b"c")
libc = ctypes.CDLL(None)
libc.printf(b"d")
libc.fflush(None)
sys.stdout.buffer.write(b"e")
print("err", file=sys.stderr)
os.system("printf f")
"""
    )
    assert execution.stdout == "abcdef"
    assert execution.stderr == "err\n"


def test_c_library_output_without_newline_belongs_to_the_cell(kernel):
    assert kernel.run("import ctypes; _ = ctypes.CDLL(None).printf(b'no newline')").stdout == "no newline"


def test_output_is_live(kernel):
    started = kernel.start("import time\nprint('first', end='', flush=True)\ntime.sleep(0.5)\nprint('second')")
    partial = kernel.wait(started, until=lambda execution: execution.stdout)
    assert partial.stdout == "first" and not partial.status
    assert kernel.wait(started).stdout == "firstsecond\n"


def test_output_comes_before_the_result_shown_after_it(kernel):
    execution = kernel.run("print('one')\ndisplay(1)\nimport time; time.sleep(0.3)\nprint('two')\n3")
    kinds = [(kind, data if kind == "stdout" else data["data"]["text/plain"]) for kind, data in execution.events]
    assert kinds == [("stdout", b"one\n"), ("result", "1"), ("stdout", b"two\n"), ("result", "3")]


def test_lines_of_several_processes_stay_whole(kernel):
    execution = kernel.run(
        "import os\nprint('unfinished', end='')\nchildren = [os.fork() for _ in range(1)]\n"
        "for i in range(300): print('line', 'of', os.getpid() * 0)\nif not children[0]: os._exit(0)\nos.wait(); None"
    )
    assert execution.stdout == "unfinished" + "line of 0\n" * 600


def test_large_output_is_complete(kernel):
    execution = kernel.run("for i in range(100000): print(i)\nprint('x' * 5_000_000)")
    lines = execution.stdout.splitlines()
    assert lines[:-1] == [str(i) for i in range(100000)]
    assert len(lines[-1]) == 5_000_000


def test_pipe_that_a_child_made_non_blocking_loses_nothing(kernel):
    execution = kernel.run("import os\nos.set_blocking(1, False)\nprint('x' * 3_000_000)")
    assert len(execution.stdout) == 3_000_001 and execution.status == "ok"


@pytest.mark.parametrize(
    "damage",
    [
        "import os; os.close(1)",
        "import os; os.dup2(os.open('/dev/null', os.O_WRONLY), 1)",
        "import sys, io; sys.stdout = io.StringIO()",
        "import sys; sys.stdout.close()",
        "import sys; sys.stdout = None",
        "import sys; del sys.stdout",
        "import sys; sys.stderr = object(); sys.stdin = None; sys.displayhook = None",
        "import os; [os.close(fd) for fd in (0, 1, 2)]",
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)",
    ],
)
def test_broken_streams_work_again_in_the_next_cell(kernel, damage):
    kernel.run(damage)
    execution = kernel.run("import os, sys\nprint('back')\nprint('e', file=sys.stderr)\nos.write(1, b'raw')\n7")
    assert (execution.stdout, execution.stderr, execution.text) == ("back\nraw", "e\n", "7")


def test_stdout_stays_the_same_object(kernel):
    kernel.run("import sys, logging\nbefore = id(sys.stdout)\nlogging.basicConfig(stream=sys.stdout)")
    assert kernel.run("id(sys.stdout) == before").text == "True"
    assert "WARNING:root:still here" in kernel.run("logging.warning('still here')").stdout


def test_invalid_text_is_written_not_refused(kernel):
    execution = kernel.run(r"print('\ud800 é😀漢'); import os; os.write(1, 'é😀'.encode()); None")
    assert execution.stdout == "\\ud800 é😀漢\né😀"
    assert kernel.run(r"display({'text/plain': 'a\ud800b'}, raw=True)").results[0]["data"]["text/plain"] == ("a\ufffdb")


def test_thread_and_child_output_between_cells_is_no_answer(kernel):
    kernel.run(
        "import threading, time, subprocess\n"
        "threading.Timer(0.2, lambda: print('later')).start()\n"
        "child = subprocess.Popen('sleep 0.2; echo child', shell=True)"
    )
    execution = kernel.run("time.sleep(0.6)\n1")
    assert execution.text == "1" and sorted(execution.stdout.split()) == ["child", "later"]


def test_warnings_show_the_line(kernel):
    stderr = kernel.run("import warnings\nwarnings.warn('careful')").stderr
    assert "<cell 1>:2: UserWarning: careful" in stderr and "warnings.warn('careful')" in stderr


def test_capture_magic_takes_prints_results_and_commands(kernel):
    execution = kernel.run("%%capture captured\nprint('p')\n!echo c\ndisplay(1)")
    assert (execution.stdout, execution.results) == ("", [])
    assert kernel.run("captured.stdout").text == r"'p\nc\n'"
    assert kernel.run("len(captured.outputs)").text == "1"
