"""Messages of the running cell, on their way to the agent."""

import threading

from .channel import MAX_SENT_BYTES, Channel, frame
from .interrupts import Interrupts
from .mime import ResultTooLarge
from .streams import Streams


class Outbox:
    """Sends the messages of one cell.

    The main result, and all results once the cell `is_ending`, wait to be sent in one go with its end.
    """

    def __init__(self, cell_id, channel: Channel, streams: Streams, interrupts: Interrupts):
        self._cell_id = cell_id
        self._channel = channel
        self._streams = streams
        self._interrupts = interrupts
        self._waiting: list[bytes] = []
        self._lock = threading.Lock()
        self.has_main = False
        self.is_ending = False

    def result(self, data: dict[str, str], is_main: bool, display_id: str | None, update: bool) -> None:
        """One displayed object; `data` maps MIME types to strings."""
        message = {"type": "result", "id": self._cell_id, "data": data, "is_main": is_main, "update": bool(update)}
        if display_id is not None:
            message["display_id"] = str(display_id)
        self.add(message)
        self.has_main |= is_main
        if not is_main and not self.is_ending:
            self.flush()

    def clear_output(self, wait: bool) -> None:
        """Asks the reader to forget the results so far."""
        self.add({"type": "clear_output", "id": self._cell_id, "wait": bool(wait)})
        self.flush()

    def add(self, message: dict) -> None:
        """Keeps a message for the next `flush`."""
        encoded = frame(message)
        if len(encoded) > MAX_SENT_BYTES:
            raise ResultTooLarge(f"result of {len(encoded)} bytes was left out: at most {MAX_SENT_BYTES} can be sent")
        with self._interrupts.held(), self._lock:
            self._waiting.append(encoded)

    def flush(self) -> None:
        """Sends what waits, after all output that came before it. A forked child sends nothing."""
        self._streams.flush()
        if self._channel.is_closed:
            return
        with self._interrupts.held(), self._lock:
            frames, self._waiting = b"".join(self._waiting), []
            if frames:
                self._channel.send_frames(frames)
