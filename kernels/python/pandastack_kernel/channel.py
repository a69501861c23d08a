"""Framed JSON messages over a Unix stream socket."""

import json
import socket
import struct
import threading

# Of a message that is received: code with every character escaped.
MAX_MESSAGE_BYTES = 256 * 1024 * 1024
# Of a message that is sent: the agent takes no longer one.
MAX_SENT_BYTES = 63 * 1024 * 1024
_HEADER = struct.Struct("<I")
_DESCRIPTOR = struct.Struct("@i")
_READ_BYTES = 1 << 20
_ANCILLARY_BYTES = socket.CMSG_SPACE(16 * _DESCRIPTOR.size)
_FLAGS = socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC


class ProtocolError(Exception):
    """The other end sent something that is not a message."""


class Channel:
    """One end of a control socket. A message is a 4-byte little-endian length and a UTF-8 JSON object."""

    def __init__(self, control: socket.socket):
        self._socket = control
        self._received = bytearray()
        self._lock = threading.Lock()

    def fileno(self) -> int:
        """Descriptor of the socket, -1 once closed."""
        return self._socket.fileno()

    @property
    def is_closed(self) -> bool:
        """Whether this end was closed, as it is in a child that a cell forked."""
        return self._socket.fileno() < 0

    def send(self, *messages: dict) -> None:
        """Sends messages in one write; blocks until all bytes are taken."""
        self.send_frames(b"".join(frame(message) for message in messages))

    def send_frames(self, frames: bytes) -> None:
        """Sends messages that `frame` has already encoded."""
        with self._lock:
            self._socket.sendall(frames)

    def receive(self) -> tuple[list[dict], list[int], bool]:
        """Reads what has arrived, without waiting.

        Returns the complete messages, the descriptors that came with them, and whether the other end is closed.
        """
        try:
            # socket.recv_fds would drop the flags.
            data, ancillary, _, _ = self._socket.recvmsg(_READ_BYTES, _ANCILLARY_BYTES, _FLAGS)
        except (BlockingIOError, InterruptedError):
            return [], [], False
        except ConnectionResetError:
            return [], [], True
        self._received += data
        return self._complete_messages(), _descriptors(ancillary), not data

    def _complete_messages(self) -> list[dict]:
        messages, start = [], 0
        while len(self._received) - start >= _HEADER.size:
            (length,) = _HEADER.unpack_from(self._received, start)
            if length > MAX_MESSAGE_BYTES:
                raise ProtocolError(f"message is too long: {length} bytes")
            end = start + _HEADER.size + length
            if len(self._received) < end:
                break
            messages.append(_parsed(bytes(self._received[start + _HEADER.size : end])))
            start = end
        del self._received[:start]
        return messages

    def close(self) -> None:
        """Closes this end."""
        self._socket.close()


def frame(message: dict) -> bytes:
    """Encodes one message with its length. Lone surrogates, which UTF-8 cannot carry, become U+FFFD."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    try:
        body = text.encode()
    except UnicodeEncodeError:
        body = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    return _HEADER.pack(len(body)) + body


def _descriptors(ancillary: list) -> list[int]:
    found = []
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            whole = len(data) - len(data) % _DESCRIPTOR.size
            found += [number for (number,) in _DESCRIPTOR.iter_unpack(data[:whole])]
    return found


def _parsed(body: bytes) -> dict:
    try:
        message = json.loads(body)
    except ValueError as error:
        raise ProtocolError(f"message is not JSON: {error}") from error
    if not isinstance(message, dict):
        raise ProtocolError(f"message is not an object: {type(message).__name__}")
    return message
