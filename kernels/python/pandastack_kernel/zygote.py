"""`python3 -m pandastack_kernel.zygote --control-fd N`: a warm process that only forks kernels."""

import argparse
import os
import platform
import selectors
import signal
import socket
import sys
import traceback
import warnings

from . import bundle
from .channel import Channel, ProtocolError
from .identity import enter_folder, reseed
from .kernel import Kernel
from .streams import Streams, high_descriptor
from .warm import freeze, warm_shell

_FORK_DESCRIPTORS = 3
# Signals that a program in the sandbox may send to all processes by name. Kernels get the default back.
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
            signal.SIGALRM, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)  # fmt: skip


class Zygote:
    """Forks a kernel for each request and reports the end of each."""

    def __init__(self, control: socket.socket):
        self._channel = Channel(control)
        self._shell = None
        self._kernels: dict[int, str] = {}
        self._descriptors: list[int] = []
        self._wakeup = socket.socketpair()

    def serve(self) -> None:
        """Runs until the agent closes the control socket."""
        self._take_signals()
        self._shell = warm_shell()
        bundle.close()
        freeze()
        self._channel.send({"type": "ready", "python": platform.python_version()})
        with selectors.PollSelector() as selector:
            selector.register(self._channel, selectors.EVENT_READ)
            selector.register(self._wakeup[0], selectors.EVENT_READ)
            while self._turn(selector):
                pass

    def _take_signals(self) -> None:
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        for end in self._wakeup:
            end.setblocking(False)
        signal.set_wakeup_fd(self._wakeup[1].fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def _turn(self, selector: selectors.BaseSelector) -> bool:
        for key, _ in selector.select():
            if key.fileobj is self._wakeup[0]:
                self._wakeup[0].recv(4096)
                self._report_ended()
                continue
            messages, descriptors, closed = self._channel.receive()
            self._descriptors += descriptors
            for message in messages:
                if message.get("type") == "fork":
                    self._fork(message)
            if closed:
                return False
        return True

    def _report_ended(self) -> None:
        for pid, kernel_id in list(self._kernels.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self._kernels[pid]
                code = os.waitstatus_to_exitcode(status)
                self._channel.send({"type": "exited", "id": kernel_id, "pid": pid, "exit_code": code})

    def _fork(self, message: dict) -> None:
        descriptors, self._descriptors = self._descriptors[:_FORK_DESCRIPTORS], self._descriptors[_FORK_DESCRIPTORS:]
        if len(descriptors) < _FORK_DESCRIPTORS:
            raise ProtocolError(f"fork came with {len(descriptors)} descriptors, not {_FORK_DESCRIPTORS}")
        kernel_id = str(message.get("id"))
        try:
            pid = _fork_process()
        except OSError as error:
            self._channel.send({"type": "fork_failed", "id": kernel_id, "message": str(error)})
            pid = None
        if pid == 0:
            self._become_kernel(message, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        if pid is not None:
            self._kernels[pid] = kernel_id
            self._channel.send({"type": "forked", "id": kernel_id, "pid": pid})

    def _become_kernel(self, message: dict, descriptors: list[int]) -> None:
        try:
            self._leave_zygote()
            control, output, error = descriptors
            streams = Streams(output, error)
            channel = Channel(socket.socket(fileno=high_descriptor(control)))
            enter_folder(message.get("cwd") or "/")
            reseed()
            Kernel(self._shell, channel, streams).serve()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(70)

    def _leave_zygote(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number in _IGNORED:
            signal.signal(number, signal.SIG_DFL)
        self._channel.close()
        for end in self._wakeup:
            end.close()
        os.setsid()


def _fork_process() -> int:
    # Libraries with threads of their own (OpenBLAS) stop them around a fork; Python warns nevertheless.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="pandastack_kernel.zygote")
    parser.add_argument("--control-fd", type=int, required=True, help="end of a socket pair to the guest agent")
    control = parser.parse_args().control_fd
    Zygote(socket.socket(fileno=high_descriptor(control))).serve()


if __name__ == "__main__":
    sys.exit(main())
