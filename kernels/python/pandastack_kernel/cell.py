"""One execution: code in, results, error and exit code out."""

import asyncio
import os
import sys

from IPython.core.async_helpers import _should_be_async

from . import errors, figures
from .identity import cell_environment
from .interrupts import CellAborted
from .outbox import Outbox


class Cell:
    """Runs one `execute` message."""

    def __init__(self, kernel, message: dict, name: str):
        self._kernel = kernel
        self._shell = kernel.shell
        self._message = message
        self._code = message.get("code", "")
        self._name = name
        self._count = kernel.shell.execution_count
        self._outbox = Outbox(message.get("id"), kernel.channel, kernel.streams, kernel.interrupts)

    def run(self) -> None:
        """Runs the code and sends what came of it."""
        self._prepare_shell()
        try:
            with cell_environment(self._message.get("env") or {}):
                error = self._run_interruptibly()
        except ValueError as invalid_environment:
            error = invalid_environment
        if self._kernel.is_forked_child:
            end_forked_child(error)
        self._release_shell()
        self._kernel.streams.restore()
        self._finish(error or self._format_error())

    def _run_interruptibly(self) -> BaseException | None:
        interrupts, error = self._kernel.interrupts, None
        try:
            try:
                interrupts.begin()
                error = self._execute()
                self._outbox.is_ending = True
                error = self._show_figures(error)
                self._kernel.streams.flush()
            finally:
                interrupts.end()
        except BaseException as raised:  # a signal between two steps ends the cell, not the kernel
            interrupts.end()
            error = error or raised
        return error

    def _prepare_shell(self) -> None:
        self._shell.compile.cell_name = self._name
        self._shell.display_pub.outbox = self._outbox
        self._shell.display_pub.is_main = False
        self._shell.format_errors.clear()
        self._shell.cell_running = True
        self._kernel.interrupts.count = 0

    def _release_shell(self) -> None:
        self._shell.cell_running = False
        self._shell.display_pub.outbox = None

    def _execute(self) -> BaseException | None:
        source, failure = self._shell.transform_fast(self._code)
        coroutine = self._run_in_shell(source, failure)
        if failure is None and _awaits(source):
            return self._kernel.run_async(coroutine)
        return self._kernel.run_sync(lambda: _run_through(coroutine))

    async def _run_in_shell(self, source: str, failure) -> BaseException | None:
        shell = self._shell
        result = None
        try:
            result = await shell.run_cell_async(
                self._code,
                store_history=self._message.get("store_history", True),
                transformed_cell=source,
                preprocessing_exc_tuple=failure,
            )
        finally:
            shell.events.trigger("post_execute")
            shell.events.trigger("post_run_cell", result)
        error = result.error_before_exec or result.error_in_exec
        if self._kernel.is_forked_child:
            end_forked_child(error)
        return error

    def _show_figures(self, error: BaseException | None) -> BaseException | None:
        try:
            figures.show_all()
        except Exception as figure_error:
            if error is None:
                return figure_error
            errors.report(figure_error)
        return error

    def _format_error(self) -> BaseException | None:
        """A value without any text is an error; one that only lacks a richer form is reported on stderr."""
        failed = list(self._shell.format_errors)
        if failed and not self._outbox.has_main:
            return failed[0]
        for error in failed:
            errors.report(error)
        return None

    def _finish(self, error: BaseException | None) -> None:
        interrupted = error is not None and self._kernel.interrupts.count > 0
        if isinstance(error, CellAborted) or (interrupted and isinstance(error, asyncio.CancelledError)):
            error = KeyboardInterrupt().with_traceback(error.__traceback__)
        exit_code = _exit_code(error)
        if error is not None and exit_code != 0:
            self._outbox.add({"type": "error", "id": self._message.get("id"), **errors.describe(error, self._name)})
        status = "ok" if exit_code == 0 else "interrupted" if interrupted else "error"
        self._outbox.add(
            {
                "type": "done",
                "id": self._message.get("id"),
                "status": status,
                "execution_count": self._count,
                "exit_code": exit_code,
            }
        )
        self._outbox.flush()


def _awaits(source: str) -> bool:
    return ("await" in source or "async" in source) and _should_be_async(source)


def _run_through(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise RuntimeError("a cell without await has waited")


def _exit_code(error: BaseException | None) -> int:
    """0 without an error, the argument of sys.exit, else 1."""
    if error is None:
        return 0
    if not isinstance(error, SystemExit):
        return 1
    if error.code is None or isinstance(error.code, int):
        return int(error.code or 0) & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def end_forked_child(error: BaseException | None) -> None:
    """Ends a forked child that has run to the end of its parent's cell, as the end of a script would."""
    code = 0
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    elif error is not None:
        errors.report(error)
        code = 1
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code & 0xFF)
