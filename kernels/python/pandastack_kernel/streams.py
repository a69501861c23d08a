"""Descriptors 0, 1 and 2 of a kernel, and the sys.stdout and sys.stderr on top of them."""

import contextlib
import ctypes
import errno
import fcntl
import functools
import io
import os
import select
import subprocess
import sys

# Far above what programs use, so that a loop that closes "all" low descriptors misses them.
_HIGH_DESCRIPTOR = 700


class PipeWriter(io.RawIOBase):
    """Writes whole buffers to a descriptor at once: nothing is written by half."""

    def __init__(self, descriptor: int, name: str):
        self._descriptor = descriptor
        self.name = name
        self.mode = "wb"

    def fileno(self) -> int:
        """The descriptor."""
        return self._descriptor

    def writable(self) -> bool:
        """Always true."""
        return True

    def write(self, data) -> int:
        """Writes all of `data`, also to a pipe that a child process has made non-blocking."""
        if self.closed:
            raise ValueError("I/O operation on closed file")
        view = memoryview(data).cast("B")
        written = 0
        while written < len(view):
            try:
                written += os.write(self._descriptor, view[written:])
            except BlockingIOError:
                _wait_writable(self._descriptor)
        return len(view)


def _wait_writable(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    poll.poll()


def _text_stream(descriptor: int, name: str) -> io.TextIOWrapper:
    # As on a terminal: written line by line, so that lines of several threads and processes stay whole.
    writer = PipeWriter(descriptor, name)
    return io.TextIOWrapper(writer, encoding="utf-8", errors="backslashreplace", line_buffering=True)


class Streams:
    """The standard streams of a kernel. `restore` undoes what a cell did to them."""

    def __init__(self, output: int, error: int):
        """`output` and `error`: write ends of the pipes to the agent. Takes them over."""
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self._spares = {number: high_descriptor(source) for number, source in ((0, null), (1, output), (2, error))}
        self._identities = {number: _identity(spare) for number, spare in self._spares.items()}
        self._libc_stdout = _libc_stdout()
        self.stdin = self.stdout = self.stderr = None
        self.restore()

    def restore(self) -> None:
        """Makes 0, 1 and 2 and sys.stdin, sys.stdout and sys.stderr what they were at the start."""
        for number, spare in self._spares.items():
            if _identity(number) != self._identities[number]:
                os.dup2(spare, number, inheritable=True)
        if self.stdin is None or self.stdin.closed:
            self.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        if self.stdout is None or self.stdout.closed:
            self.stdout = _text_stream(1, "<stdout>")
        if self.stderr is None or self.stderr.closed:
            self.stderr = _text_stream(2, "<stderr>")
        sys.stdin = sys.__stdin__ = self.stdin
        sys.stdout = sys.__stdout__ = self.stdout
        sys.stderr = sys.__stderr__ = self.stderr

    def flush_lines(self) -> None:
        """Writes out unfinished lines, so that what other processes write comes after them."""
        _flush(self.stdout)
        _flush(self.stderr)

    def flush(self) -> None:
        """Writes out what the streams, their replacements and the C library still hold."""
        self.flush_lines()
        for name, own in (("stdout", self.stdout), ("stderr", self.stderr)):
            stream = getattr(sys, name, own)
            if stream is not own:
                _flush(stream)
        if self._libc_stdout is not None:
            library, pointer = self._libc_stdout
            library.fflush(pointer)


def _flush(stream) -> None:
    # A stream that is closed or cannot flush has nothing for us.
    with contextlib.suppress(Exception):
        stream.flush()


def flush_before_commands(streams: Streams) -> None:
    """Makes every subprocess start with flushed streams. Once per process."""
    execute = subprocess.Popen._execute_child

    @functools.wraps(execute)
    def call(*args, **kwargs):
        streams.flush_lines()
        return execute(*args, **kwargs)

    subprocess.Popen._execute_child = call


def _libc_stdout():
    try:
        library = ctypes.CDLL(None)
        return library, ctypes.c_void_p.in_dll(library, "stdout")
    except (OSError, ValueError):
        return None


def _identity(descriptor: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(descriptor)
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        return None
    return status.st_dev, status.st_ino


def high_descriptor(descriptor: int) -> int:
    """Moves a descriptor to a high number, closed on exec. Returns the number."""
    for lowest in (_HIGH_DESCRIPTOR, 100, 3):
        try:
            moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EMFILE):
                raise
            continue
        os.close(descriptor)
        return moved
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
