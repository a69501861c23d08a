"""Error messages: what a cell raised, as plain text that a model can read."""

import os
import sys
import traceback

from IPython.core.error import UsageError

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_HIDDEN_FILES = ("interactiveshell.py", "async_helpers.py", "displayhook.py", "compilerop.py", "formatters.py")
_MAX_FRAMES = 100
_MAX_CHARACTERS = 1 << 20


def describe(error: BaseException, cell_name: str) -> dict:
    """The fields `name`, `value`, `traceback`, `text` and `line` of an error message."""
    name = str(type(error).__name__)
    value = _value(error)
    chunks = _chunks(error, name, value)
    fields = {"name": name, "value": value, "traceback": chunks, "text": "".join(chunks).rstrip("\n")}
    line = _line(error, cell_name)
    if line is not None:
        fields["line"] = line
    return fields


def report(error: BaseException) -> None:
    """Writes an error that belongs to no cell, or not to its end, to stderr."""
    print(describe(error, "")["text"], file=sys.stderr)


def _value(error: BaseException) -> str:
    try:
        value = str(error)
    except BaseException:
        return "<exception str() failed>"
    return _shortened_text(value)


def _shortened_text(text: str) -> str:
    if len(text) <= _MAX_CHARACTERS:
        return text
    half = _MAX_CHARACTERS // 2
    return f"{text[:half]}… {len(text) - 2 * half} characters left out …{text[-half:]}"


def _chunks(error: BaseException, name: str, value: str) -> list[str]:
    if isinstance(error, UsageError):
        return [f"{name}: {value}\n"]
    try:
        summary = traceback.TracebackException.from_exception(error, compact=True)
        _hide_frames(summary, set())
        return [_shortened_text(chunk) for chunk in summary.format()]
    except Exception:
        return [f"{name}: {value}\n"]


def _hide_frames(summary, seen: set[int]) -> None:
    if summary is None or summary.stack is None or id(summary) in seen:
        return
    seen.add(id(summary))
    shown = [frame for frame in summary.stack if not _is_hidden(frame.filename)]
    if len(shown) > _MAX_FRAMES and not _is_plain_recursion(shown):
        shown = _shortened(shown)
    # Without frames there is no header either, as Python prints a syntax error.
    summary.stack[:] = shown
    if not shown:
        summary.stack = None
    for other in (summary.__cause__, summary.__context__, *(getattr(summary, "exceptions", None) or ())):
        _hide_frames(other, seen)


def _is_hidden(filename: str) -> bool:
    if filename.startswith(_PACKAGE):
        return True
    return filename.endswith(_HIDDEN_FILES) and f"IPython{os.sep}core" in filename


def _is_plain_recursion(frames: list) -> bool:
    # The traceback module folds repeated lines by itself.
    return len({(frame.filename, frame.lineno) for frame in frames}) < 10


def _shortened(frames: list) -> list:
    half = _MAX_FRAMES // 2
    left_out = len(frames) - 2 * half
    note = traceback.FrameSummary(f"… {left_out} frames left out …", 0, "…", lookup_line=False, line="")
    return [*frames[:half], note, *frames[-half:]]


def _line(error: BaseException, cell_name: str) -> int | None:
    if isinstance(error, SyntaxError) and error.filename == cell_name:
        return error.lineno if isinstance(error.lineno, int) and error.lineno > 0 else None
    line = None
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == cell_name:
            line = number
    return line
