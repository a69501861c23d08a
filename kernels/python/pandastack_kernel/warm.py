"""What the zygote does once so that no kernel has to: imports, a first plot, a first table, a first cell."""

import contextlib
import ctypes
import gc
import importlib
import mmap
import os
import sys

from . import commands, figures, plotly_figures, prompts, tables
from .event_loop import allow_nested_runs
from .shell import KernelShell, silence_exit_hint

_LIBRARIES = ("numpy", "pandas", "matplotlib.pyplot")


def warm_shell() -> KernelShell:
    """Imports the usual libraries as far as they are there. Returns a shell that has not run anything yet."""
    _hide_zygote()
    for library in _LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    allow_nested_runs()
    silence_exit_hint()
    prompts.install()
    sys.argv = [""]
    sys.path.insert(0, "")
    shell = KernelShell.instance()
    for part in (figures, tables, plotly_figures, commands):
        part.install(shell)
    _rehearse(shell)
    return shell


def _hide_zygote() -> None:
    """Takes the zygote's folders from where programs look for modules."""
    # `python -m` has put the working directory first: libraries must not be imported from there.
    if sys.path and sys.path[0] in ("", os.getcwd()):
        del sys.path[0]
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = [folder for folder in os.environ.pop("PYTHONPATH", "").split(os.pathsep) if folder not in ("", own)]
    if folders:
        os.environ["PYTHONPATH"] = os.pathsep.join(folders)


def _rehearse(shell: KernelShell) -> None:
    """Draws a plot and formats a table, so that what they import and cache is there for every kernel."""
    with contextlib.suppress(ImportError):
        import pandas

        shell.display_formatter.format(pandas.DataFrame({"a": [1, 2.5]}))
    with contextlib.suppress(ImportError):
        from matplotlib import pyplot

        figure, axes = pyplot.subplots()
        axes.plot([0, 1], [0, 1], label="a")
        axes.legend()
        shell.display_formatter.format(figure)
        pyplot.close("all")
    coroutine = shell.run_cell_async("1 + 1", store_history=False, silent=True, transformed_cell="1 + 1\n")
    with contextlib.suppress(StopIteration):
        coroutine.send(None)


def freeze() -> None:
    """Moves all objects out of reach of the collector, so that forks share their memory."""
    gc.collect()
    gc.freeze()
    _copy_by_page()


def _copy_by_page() -> None:
    """Lets forks copy the pages that they write to, and not everything around them.

    gVisor copies 2 MiB when a page that is shared with a fork is written to, but a single page where memory may be
    executed (`getPMAsInternalLocked` in its `pkg/sentry/mm/pma.go`). So a fork would soon have copied all of it.
    """
    protect = ctypes.CDLL(None).mprotect
    flags = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        mappings = [line.split()[:2] for line in maps]
    for span, permissions in mappings:
        if permissions == "rw-p":
            start, end = (int(address, 16) for address in span.split("-"))
            protect(ctypes.c_void_p(start), ctypes.c_size_t(end - start), flags)
