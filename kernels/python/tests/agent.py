"""Plays the guest agent: starts a zygote, asks for kernels, runs cells, drains pipes as the protocol says."""

import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

PACKAGE_ROOT = Path(__file__).resolve().parent.parent
DEADLINE_SECONDS = 60.0


class KernelGone(Exception):
    """The control socket was closed."""


class Connection:
    """One framed control socket."""

    def __init__(self, end: socket.socket):
        self.socket = end
        self._buffer = b""

    def send(self, message: dict, descriptors=()) -> None:
        body = json.dumps(message).encode()
        data = struct.pack("<I", len(body)) + body
        if descriptors:
            socket.send_fds(self.socket, [data[:1]], descriptors)
            data = data[1:]
        self.socket.sendall(data)

    def take(self) -> dict | None:
        """A complete message that has arrived, or None."""
        if len(self._buffer) < 4:
            return None
        (length,) = struct.unpack_from("<I", self._buffer)
        if len(self._buffer) < 4 + length:
            return None
        body, self._buffer = self._buffer[4 : 4 + length], self._buffer[4 + length :]
        return json.loads(body)

    def fill(self) -> None:
        data = self.socket.recv(1 << 20)
        if not data:
            raise KernelGone
        self._buffer += data

    def receive(self, timeout: float = DEADLINE_SECONDS) -> dict:
        deadline = time.monotonic() + timeout
        while (message := self.take()) is None:
            if not select.select([self.socket], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("no message")
            self.fill()
        return message


@dataclass
class Execution:
    """What one cell gave. `events` keeps the order of output and messages."""

    events: list = field(default_factory=list)
    status: str = ""
    exit_code: int | None = None
    execution_count: int | None = None

    def _text(self, kind: str) -> str:
        return b"".join(data for name, data in self.events if name == kind).decode()

    @property
    def stdout(self) -> str:
        return self._text("stdout")

    @property
    def stderr(self) -> str:
        return self._text("stderr")

    @property
    def results(self) -> list[dict]:
        return [message for name, message in self.events if name == "result"]

    @property
    def error(self) -> dict | None:
        return next((message for name, message in self.events if name == "error"), None)

    @property
    def text(self) -> str | None:
        return next((r["data"].get("text/plain") for r in self.results if r["is_main"]), None)


class Kernel:
    """Agent's side of one kernel."""

    def __init__(self, zygote: "Zygote", pid: int, control: socket.socket, output: int, error: int):
        self.zygote = zygote
        self.pid = pid
        self.control = Connection(control)
        self.pipes = {output: "stdout", error: "stderr"}
        self._next_id = 1

    def start(self, code: str, **fields) -> Execution:
        """Sends a cell without waiting for its end."""
        self.control.send({"type": "execute", "id": self._next_id, "code": code, **fields})
        self._next_id += 1
        return Execution()

    def run(self, code: str, timeout: float = DEADLINE_SECONDS, **fields) -> Execution:
        return self.wait(self.start(code, **fields), timeout)

    def wait(self, execution: Execution, timeout: float = DEADLINE_SECONDS, until=None) -> Execution:
        """Collects output and messages until `done`, or until `until(execution)`."""
        deadline = time.monotonic() + timeout
        while not execution.status and not (until and until(execution)):
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError(f"cell does not end: {execution}")
            ready = select.select([self.control.socket, *self.pipes], [], [], remaining)[0]
            self.drain(execution)
            if self.control.socket in ready:
                self._take_messages(execution)
        return execution

    def _take_messages(self, execution: Execution) -> None:
        self.control.fill()
        self.drain(execution)
        while (message := self.control.take()) is not None:
            assert message["id"] == self._next_id - 1
            if message["type"] == "done":
                execution.status = message["status"]
                execution.exit_code = message["exit_code"]
                execution.execution_count = message["execution_count"]
            else:
                execution.events.append((message["type"], message))

    def drain(self, execution: Execution) -> None:
        """Takes all that is in the pipes now."""
        for pipe, name in self.pipes.items():
            while True:
                try:
                    data = os.read(pipe, 1 << 20)
                except BlockingIOError:
                    break
                if not data:
                    break
                execution.events.append((name, data))

    def interrupt(self) -> None:
        os.kill(self.pid, signal.SIGINT)

    def configure(self, **fields) -> None:
        self.control.send({"type": "configure", **fields})
        assert self.control.receive() == {"type": "configured"}

    def close(self) -> None:
        self.control.socket.close()
        for pipe in self.pipes:
            os.close(pipe)


class Zygote:
    """Agent's side of a zygote process."""

    def __init__(self, python: str = sys.executable, env: dict | None = None):
        ours, theirs = socket.socketpair()
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE_ROOT), **(env or {})}
        command = [python, "-m", "pandastack_kernel.zygote", "--control-fd", str(theirs.fileno())]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL)
        theirs.close()
        self.control = Connection(ours)
        self.ready = self.control.receive()
        self._next_id = 1

    def fork(self, cwd: str = "/tmp") -> Kernel:
        ours, theirs = socket.socketpair()
        output_read, output_write = os.pipe()
        error_read, error_write = os.pipe()
        kernel_id = f"k{self._next_id}"
        self._next_id += 1
        self.control.send({"type": "fork", "id": kernel_id, "cwd": cwd}, [theirs.fileno(), output_write, error_write])
        forked = self.control.receive()
        assert forked["type"] == "forked" and forked["id"] == kernel_id, forked
        theirs.close()
        for end in (output_write, error_write):
            os.close(end)
        for end in (output_read, error_read):
            os.set_blocking(end, False)
        kernel = Kernel(self, forked["pid"], ours, output_read, error_read)
        assert kernel.control.receive() == {"type": "ready"}
        return kernel

    def close(self) -> None:
        self.control.socket.close()
        self.process.wait(10)
