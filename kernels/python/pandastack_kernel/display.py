"""Displayed objects become result messages."""

import sys

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from traitlets import Any

from .mime import ResultTooLarge, to_strings

_PLAIN_TYPES = frozenset((bool, int, float, complex, str, bytes))


class ResultPublisher(DisplayPublisher):
    """Publishes what `display()` shows. `outbox` takes the messages; without one, the text is printed."""

    outbox = Any(None)
    is_main = False

    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **kwargs):
        """Sends one displayed object with all its MIME types."""
        try:
            strings = to_strings(data)
            if self.outbox is None:
                print(strings.get("text/plain", ""))
            else:
                self.outbox.result(strings, self.is_main, (transient or {}).get("display_id"), update)
        except ResultTooLarge as error:
            print(error, file=sys.stderr)

    def clear_output(self, wait=False):
        """Asks to forget what this cell has shown; with `wait`, when the next result comes."""
        if self.outbox is not None:
            self.outbox.clear_output(wait)


class ValueHook(DisplayHook):
    """sys.displayhook of a cell: the value of its last expression is the main result."""

    def quiet(self):
        """Whether the cell ends in `;`, which hides its value."""
        inputs = self.shell.history_manager.input_hist_parsed
        return bool(inputs) and ";" in inputs[-1] and super().quiet()

    def start_displayhook(self):
        """Objects that display themselves are the main result too."""
        super().start_displayhook()
        self.shell.display_pub.is_main = True

    def compute_format_data(self, result):
        """Formats the value. Numbers and strings have text only, unless a formatter was registered for them."""
        formatters = self.shell.display_formatter.formatters
        kind = type(result)
        if kind in _PLAIN_TYPES and not any(
            kind in formatter.type_printers for mime, formatter in formatters.items() if mime != "text/plain"
        ):
            return {"text/plain": formatters["text/plain"](result)}, {}
        return super().compute_format_data(result)

    def write_output_prompt(self):
        """There is no prompt."""

    def write_format_data(self, format_dict, md_dict=None):
        """Publishes the value."""
        self.shell.display_pub.publish(format_dict, md_dict)

    def log_output(self, format_dict):
        """Keeps no second copy of the formatted value."""

    def finish_displayhook(self):
        """Ends the main result."""
        self._is_active = False
        self.shell.display_pub.is_main = False
