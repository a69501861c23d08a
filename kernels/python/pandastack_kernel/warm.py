"""What the zygote does once so that no kernel has to: imports, a first plot, a first table, a first cell."""

import contextlib
import gc
import importlib
import sys

from .event_loop import allow_nested_runs
from .shell import KernelShell, silence_exit_hint

_LIBRARIES = ("numpy", "pandas", "matplotlib.pyplot")


def warm_shell() -> KernelShell:
    """Imports the usual libraries as far as they are there. Returns a shell that has not run anything yet."""
    for library in _LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    allow_nested_runs()
    silence_exit_hint()
    sys.argv = [""]
    sys.path[0:1] = [""]
    shell = KernelShell.instance()
    return shell


def freeze() -> None:
    """Moves all objects out of reach of the collector, so that forks share their memory."""
    gc.collect()
    gc.freeze()
