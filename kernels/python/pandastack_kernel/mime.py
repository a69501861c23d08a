"""Turns what IPython's formatters give into strings that fit a result message."""

import base64
import json
import math

# What a result may have as UTF-8, before the escapes of JSON.
MAX_DATA_BYTES = 48 * 1024 * 1024
_MAX_DEPTH = 200


class ResultTooLarge(Exception):
    """A displayed object is larger than one message can be."""


def to_strings(data: dict) -> dict[str, str]:
    """Every value as a string: text as it is, bytes in base64 (SVG as text), anything else as JSON text."""
    strings = {str(mime): _to_string(str(mime), value) for mime, value in data.items() if value is not None}
    size = sum(_size(value) for value in strings.values())
    if size > MAX_DATA_BYTES:
        raise ResultTooLarge(f"result of {size} bytes was left out: at most {MAX_DATA_BYTES} can be shown")
    return strings


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _to_string(mime: str, value) -> str:
    if isinstance(value, str):
        return value if type(value) is str else str.__str__(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        if mime.startswith("text/") or mime == "image/svg+xml":
            return bytes(value).decode("utf-8", "replace")
        return base64.b64encode(value).decode("ascii")
    if mime.startswith("text/") and isinstance(value, (list, tuple)):
        return "".join(str(part) for part in value)
    return json_text(value)


def json_text(value) -> str:
    """JSON of any value: NaN and infinities become null, unknown keys and objects their `str`."""
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(json_safe(value), allow_nan=False, ensure_ascii=False)


def json_safe(value, depth: int = 0):
    """A copy that `json.dumps` takes: also numpy scalars and arrays, sets, dates, and keys that are not strings."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if type(value).__name__ == "NAType":
        return None
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if depth >= _MAX_DEPTH:
        return "…"
    if isinstance(value, dict):
        return {_key(key): json_safe(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [json_safe(item, depth + 1) for item in value]
    if hasattr(value, "isoformat"):
        return str(value.isoformat()) if value == value else None
    if hasattr(value, "tolist"):
        return json_safe(value.tolist(), depth + 1)
    return str(value)


def _key(key) -> str:
    return key if isinstance(key, str) else str(key)
