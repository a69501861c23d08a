"""Interrupts: state survives, code that resists, commands and awaits."""

import time

import pytest


def interrupt_when_started(kernel, code: str, times: int = 1):
    started = kernel.start("print('started')\n" + code)
    kernel.wait(started, until=lambda execution: "started" in execution.stdout)
    for _ in range(times):
        time.sleep(0.2)
        kernel.interrupt()
    return kernel.wait(started, timeout=20)


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time; time.sleep(300)",
        "import asyncio; await asyncio.sleep(300)",
        "import asyncio; asyncio.run(asyncio.sleep(300))",
        "async def f():\n    while True: pass\nawait f()",
        "!sleep 300",
        "x = !sleep 300",
        "import subprocess; subprocess.run(['sleep', '300'])",
        "import os; os.system('sleep 300')",
        "import threading; threading.Event().wait()",
        "class A:\n    def __repr__(self):\n        while True: pass\nA()",
        "get_ipython().run_cell_magic('bash', '', 'sleep 300')",
        "def g():\n    try:\n        while True: pass\n    finally: print('cleanup')\ng()",
    ],
)
def test_interrupt_ends_the_cell_and_keeps_state(kernel, code):
    kernel.run("x = 1")
    execution = interrupt_when_started(kernel, code)
    assert (execution.status, execution.exit_code) == ("interrupted", 1)
    assert execution.error["text"]
    assert kernel.run("x + 1").text == "2"


def test_error_of_an_interrupt_is_keyboard_interrupt(kernel):
    for code in ("import time; time.sleep(300)", "import asyncio\nawait asyncio.sleep(300)"):
        error = interrupt_when_started(kernel, code).error
        assert error["name"] == "KeyboardInterrupt" and error["text"].endswith("KeyboardInterrupt")
        assert "await asyncio.sleep(300)" in error["text"] or "time.sleep(300)" in error["text"]


def test_cleanup_of_an_awaiting_cell_runs_on_the_loop(kernel):
    code = "import asyncio\ntry:\n    await asyncio.sleep(300)\nfinally:\n    await asyncio.sleep(0.01)\n    print('clean')"
    execution = interrupt_when_started(kernel, code)
    assert execution.status == "interrupted" and "clean" in execution.stdout


@pytest.mark.parametrize(
    "code",
    [
        "import time\nwhile True:\n    try: time.sleep(300)\n    except KeyboardInterrupt: print('no')",
        "import time\nwhile True:\n    try: time.sleep(300)\n    except Exception: pass",
        "import asyncio\nwhile True:\n    try: await asyncio.sleep(300)\n    except asyncio.CancelledError: pass",
    ],
)
def test_second_interrupt_ends_code_that_swallows_the_first(kernel, code):
    kernel.run("x = 1")
    assert interrupt_when_started(kernel, code, times=2).status == "interrupted"
    assert kernel.run("x").text == "1"


def test_swallowed_interrupt_is_no_interrupt(kernel):
    code = "import time\ntry: time.sleep(300)\nexcept KeyboardInterrupt: pass\n'done'"
    execution = interrupt_when_started(kernel, code)
    assert (execution.status, execution.text) == ("ok", "'done'")


def test_interrupts_between_cells_do_nothing(kernel):
    for _ in range(20):
        kernel.interrupt()
    assert kernel.run("1").text == "1"
    assert kernel.run("import time; time.sleep(0.1); 2").text == "2"


def test_output_charts_and_text_before_an_interrupt_are_kept(kernel):
    code = "display('shown')\nimport matplotlib.pyplot as plt\nplt.plot([1])\nimport time; time.sleep(300)"
    pytest.importorskip("matplotlib")
    execution = interrupt_when_started(kernel, code)
    assert execution.stdout == "started\n"
    assert "image/png" in execution.results[-1]["data"] and execution.results[0]["data"]["text/plain"] == "'shown'"


def test_interrupted_command_leaves_no_process(kernel):
    interrupt_when_started(kernel, "!sh -c 'sleep 298765 & sleep 298765'")
    assert kernel.run("!pgrep -f 'sleep 29876[5]'").stdout == ""


def test_many_interrupts_never_break_the_protocol(kernel):
    code = "for i in range(30000):\n    display(i) if i % 100 == 0 else None"
    for _ in range(30):
        started = kernel.start(code)
        kernel.wait(started, until=lambda execution: execution.results)
        kernel.interrupt()
        assert kernel.wait(started).status in ("ok", "interrupted")
    assert kernel.run("1").text == "1"


def test_storm_of_interrupts_around_short_cells(kernel):
    import threading

    stop = threading.Event()

    def storm():
        while not stop.is_set():
            kernel.interrupt()
            time.sleep(0.0005)

    thread = threading.Thread(target=storm)
    thread.start()
    try:
        for _ in range(300):
            assert kernel.run("x = 1").status in ("ok", "interrupted")
    finally:
        stop.set()
        thread.join()
    assert kernel.run("x = 2; x").text == "2"
