"""One kernel: serves the cells of one context until its control socket is closed."""

import asyncio
import atexit
import contextvars
import os
import signal
import sys

from . import errors, plotly_figures
from .cell import Cell
from .channel import Channel
from .event_loop import SessionLoop, standing
from .identity import apply_environment, enter_folder, reseed
from .interrupts import Interrupts
from .rehearsal import rehearse
from .shell import KernelShell
from .streams import Streams, flush_before_commands

# How long a cancelled cell may take to clean up before it is left behind.
_CLEANUP_SECONDS = 2.0


class Kernel:
    """Takes messages from the agent one at a time; the event loop turns while it waits for them."""

    def __init__(self, shell: KernelShell, channel: Channel, streams: Streams):
        self.shell = shell
        self.channel = channel
        self.streams = streams
        self.interrupts = Interrupts()
        self.loop = SessionLoop()
        self._context = contextvars.copy_context()
        self.messages: list[dict] = []
        self._closed = False
        self.cells = 0
        # Whether this process is a child that a cell forked, not the kernel itself.
        self.is_forked_child = False
        self._renderer_end: asyncio.TimerHandle | None = None

    def serve(self) -> None:
        """Answers messages until the agent closes the socket. Does not return."""
        self.interrupts.install()
        os.register_at_fork(before=self.streams.flush_lines, after_in_child=self._become_child)
        flush_before_commands(self.streams)
        rehearse(self)
        self.channel.send({"type": "ready"})
        while (message := self.next_message()) is not None:
            self.handle(message)
        self.shut_down()

    def listen_to(self, channel: Channel) -> None:
        """Takes messages from `channel`, and answers there."""
        self.loop.remove_reader(self.channel.fileno())
        self.channel = channel
        self.loop.add_reader(channel.fileno(), self._on_readable)

    def next_message(self) -> dict | None:
        """Waits for a message while the event loop turns; None once the agent has closed the socket."""
        asyncio.set_event_loop(self.loop)
        while not self.messages and not self._closed:
            try:
                self.loop.run_forever()
            except BaseException as error:  # a background task of the user must not end the kernel
                errors.report(error)
        return self.messages.pop(0) if self.messages else None

    def _on_readable(self) -> None:
        messages, _, closed = self.channel.receive()
        self.messages += messages
        self._closed |= closed
        if closed and self.interrupts.is_active:
            self.shut_down()
        if (messages or closed) and not self.interrupts.is_active:
            self.loop.stop()

    def handle(self, message: dict) -> None:
        """Does what one message asks for."""
        match message.get("type"):
            case "execute":
                self.cells += 1
                self.interrupts.install()
                Cell(self, message, f"<cell {self.cells}>").run()
                self._end_renderer_when_idle()
            case "configure":
                self._configure(message)
            case "rehearse":
                rehearse(self)
            case "quiesce":
                plotly_figures.end_renderer()
                self.channel.send({"type": "quiesced"})

    def _configure(self, message: dict) -> None:
        try:
            apply_environment(message.get("env") or {})
        except ValueError as error:
            print(error, file=sys.stderr)
        if message.get("cwd"):
            enter_folder(message["cwd"])
        if message.get("reseed"):
            reseed()
        self.channel.send({"type": "configured"})

    def _end_renderer_when_idle(self) -> None:
        if self._renderer_end is not None:
            self._renderer_end.cancel()
            self._renderer_end = None
        if plotly_figures.renderer_is_running():
            self._renderer_end = self.loop.call_later(plotly_figures.IDLE_SECONDS, plotly_figures.end_renderer)

    def run_sync(self, function):
        """Calls `function` in the context of the session, with the loop standing still."""

        def call():
            with standing(self.loop):
                return function()

        return self._context.run(call)

    def run_async(self, coroutine):
        """Runs a coroutine on the loop, in the context of the session. Returns its result."""
        task = self.loop.create_task(coroutine, context=self._context)
        self.interrupts.watch(task)
        while not task.done():
            try:
                self.loop.run_until_complete(task)
            except BaseException as error:
                if self.interrupts.count:
                    self._cancel(task)
                    raise
                if not task.done():
                    errors.report(error)
        return task.result()

    def _cancel(self, task: asyncio.Task) -> None:
        if not task.done():
            task.cancel()
            self.loop.run_until_complete(asyncio.wait([task], timeout=_CLEANUP_SECONDS))

    def _become_child(self) -> None:
        self.is_forked_child = self.loop.is_inherited = True
        self.channel.close()
        self.shell.display_pub.outbox = None
        asyncio.set_event_loop(asyncio.new_event_loop())
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def shut_down(self) -> None:
        """Ends the process as an interpreter does, but never waits for threads."""
        try:
            atexit._run_exitfuncs()
            self.streams.flush()
        finally:
            os._exit(0)
