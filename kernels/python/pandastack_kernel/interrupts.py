"""SIGINT: raises KeyboardInterrupt in a running cell, and does nothing at any other time."""

import asyncio
import signal
import threading
from contextlib import contextmanager


class CellAborted(BaseException):
    """A cell was interrupted again after it had swallowed KeyboardInterrupt."""


class Interrupts:
    """Decides what one SIGINT does.

    Synchronous code gets KeyboardInterrupt where it stands. A cell that awaits has its task cancelled, so that its
    `finally` blocks run on a working event loop. From the second signal of a cell on, `CellAborted` is raised, which
    `except KeyboardInterrupt` and `except Exception` do not catch.
    """

    def __init__(self):
        self.count = 0
        self._active = False
        self._held = 0
        self._pending = False
        self._task = None

    def install(self) -> None:
        """Becomes the handler of SIGINT, also when a cell had set its own. Main thread only."""
        if signal.getsignal(signal.SIGINT) != self._on_signal:
            signal.signal(signal.SIGINT, self._on_signal)

    @property
    def is_active(self) -> bool:
        """Whether a cell is running."""
        return self._active

    def begin(self) -> None:
        """User code follows: signals reach it."""
        self.count = 0
        self._active = True

    def end(self) -> None:
        """User code has ended: signals do nothing."""
        self._active = False
        self._pending = False
        self._task = None

    @contextmanager
    def held(self):
        """Delays signals to the end of the block, for work that must not be cut in half."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            if self._pending and not self._held:
                self._pending = False
                self._deliver()

    def watch(self, task: asyncio.Task) -> None:
        """Names the task of the running cell, to be cancelled by a signal."""
        self._task = task

    def _on_signal(self, _signum, frame) -> None:
        # In the middle of `begin` or `end` a signal belongs to no cell, and must not keep them from finishing.
        if not self._active or (frame is not None and frame.f_code in _SWITCHES):
            return
        self.count += 1
        if self._held:
            self._pending = True
            return
        self._deliver()

    def _deliver(self) -> None:
        task = self._task
        if self.count == 1 and task is not None and asyncio.current_task(task.get_loop()) is None:
            task.get_loop().call_soon_threadsafe(task.cancel)
            return
        raise KeyboardInterrupt if self.count == 1 else CellAborted


_SWITCHES = (Interrupts.begin.__code__, Interrupts.end.__code__)
