"""The way of a first message and a first cell, gone once before somebody waits for them.

What a forked kernel writes to for the first time is copied, page by page: some 100 ms in gVisor. After a restore each
of these pages must be mapped again.
"""

import linecache
import socket
from contextlib import contextmanager

from .channel import Channel, frame

_VARIABLE = "PANDASTACK_REHEARSAL"
_CODE = """\
import sys
_rehearsal = [str(number) for number in (1, 2.5, None)]
display(f"{_rehearsal} {sys.argv!r:>5}")
"""
_MESSAGES = (
    {"type": "configure", "env": {_VARIABLE: "1"}, "reseed": True},
    {"type": "configure", "env": {_VARIABLE: None}},
    {"type": "execute", "id": 0, "code": _CODE, "env": {_VARIABLE: "1"}},
    {"type": "execute", "id": 0, "code": "1 + 1"},
)


def rehearse(kernel) -> None:
    """Lets `kernel` take its usual messages from a socket of its own. Nothing of them is left, and nobody is told."""
    channel, cells, waiting = kernel.channel, kernel.cells, kernel.messages
    kernel.messages = []
    near, far = socket.socketpair()
    with near, far, _unchanged(kernel.shell):
        kernel.listen_to(Channel(near))
        far.sendall(b"".join(frame(message) for message in _MESSAGES))
        for _ in _MESSAGES:
            kernel.handle(kernel.next_message())
        kernel.listen_to(channel)
    kernel.cells, kernel.messages = cells, waiting
    for number in range(len(_MESSAGES)):
        linecache.cache.pop(f"<cell {cells + 1 + number}>", None)


@contextmanager
def _unchanged(shell):
    """Undoes what a cell leaves in the shell: names, values, history, its number."""
    hook, history, count = shell.displayhook, shell.history_manager, shell.execution_count
    names_before = [(names, dict(names)) for names in (shell.user_ns["_oh"], shell.user_ns, shell.user_ns_hidden)]
    values_before = hook._, hook.__, hook.___
    inputs_before = {name: getattr(history, name) for name in ("_i", "_ii", "_iii", "_i00")}
    yield
    for names, before in names_before:
        for name in set(names) - set(before):
            del names[name]
        names.update(before)
    hook._, hook.__, hook.___ = values_before
    vars(history).update(inputs_before)
    for inputs in (history.input_hist_parsed, history.input_hist_raw):
        del inputs[count:]
    shell.execution_count = count
