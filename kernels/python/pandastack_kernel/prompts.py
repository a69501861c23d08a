"""input() and getpass() in a kernel: an error that says what to do, at once."""

import builtins
import getpass

_ADVICE = "nobody can type into a running cell; put the value into a variable or an environment variable instead"


def _refused(function_name: str):
    def refuse(prompt="", *args, **kwargs):
        raise EOFError(f"{function_name} is not available: {_ADVICE}")

    refuse.__name__ = function_name.removesuffix("()")
    return refuse


def install() -> None:
    """Replaces both functions."""
    builtins.input = _refused("input()")
    getpass.getpass = _refused("getpass()")
