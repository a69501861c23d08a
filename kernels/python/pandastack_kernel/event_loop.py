"""The one asyncio loop of a kernel, and what makes it usable from ordinary cells.

A cell without `await` runs while the loop stands still, but sees it as the running loop: `asyncio.create_task` works
there, and the task goes on when the cell has ended. Code that brings its own loop (`asyncio.run`,
`loop.run_until_complete`) must not see it, or it would be refused: for the time of such a call it is hidden.
"""

import asyncio
import contextlib
import functools
import os
from asyncio import base_events, runners
from asyncio.events import _get_running_loop, _set_running_loop


class SessionLoop(asyncio.SelectorEventLoop):
    """Event loop that lives as long as its kernel, and only in its process."""

    # Set in a forked child, which shares the epoll descriptor: its turn of the loop would steal events from the kernel.
    is_inherited = False

    def close(self) -> None:
        """Does nothing: `loop.close()` at the end of a cell must not take the loop from the next cells."""

    def _run_once(self) -> None:
        if self.is_inherited:
            os._exit(0)
        super()._run_once()


@contextlib.contextmanager
def standing(loop: SessionLoop):
    """Code inside sees `loop` as the running loop although it stands still."""
    asyncio.set_event_loop(loop)
    _set_running_loop(loop)
    try:
        yield
    finally:
        _set_running_loop(None)


@contextlib.contextmanager
def _hidden():
    loop = _get_running_loop()
    if not isinstance(loop, SessionLoop) or loop.is_running():
        yield
        return
    _set_running_loop(None)
    try:
        yield
    finally:
        _set_running_loop(loop)


def _runs_a_loop(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        with _hidden():
            return function(*args, **kwargs)

    return call


def _runs_a_new_loop(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        loop = _get_running_loop()
        try:
            with _hidden():
                return function(*args, **kwargs)
        finally:
            if isinstance(loop, SessionLoop) and not loop.is_running():
                asyncio.set_event_loop(loop)

    return call


def allow_nested_runs() -> None:
    """Makes `asyncio.run` and its relatives work inside a cell. Once per process."""
    asyncio.run = runners.run = _runs_a_new_loop(runners.run)
    runners.Runner.run = _runs_a_loop(runners.Runner.run)
    for name in ("run_forever", "run_until_complete"):
        setattr(base_events.BaseEventLoop, name, _runs_a_loop(getattr(base_events.BaseEventLoop, name)))
