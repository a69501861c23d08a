"""What a kernel takes over from the sandbox it finds itself in: environment, folder, randomness."""

import contextlib
import os
import random
import sys


def apply_environment(values: dict[str, str | None]) -> None:
    """Sets environment variables; None removes one. Raises ValueError for a name or value that none can have."""
    for name, value in values.items():
        try:
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = str(value)
        except (ValueError, OSError) as error:
            raise ValueError(f"environment variable cannot be set: `{name!r}`: {error}") from None


def enter_folder(path: str) -> None:
    """Changes the working directory; one that cannot be entered is reported on stderr and leaves `/`."""
    try:
        os.chdir(path)
    except OSError as error:
        print(f"cannot enter the working directory: {error}", file=sys.stderr)
        os.chdir("/")


def reseed() -> None:
    """Gives the global generators fresh seeds of the operating system: clones must not draw the same numbers."""
    random.seed()
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
    torch = sys.modules.get("torch")
    if hasattr(torch, "seed"):
        torch.seed()


@contextlib.contextmanager
def cell_environment(values: dict[str, str | None]):
    """Sets variables for one cell. What the cell itself changes stays changed."""
    before = {name: os.environ.get(name) for name in values}
    try:
        apply_environment(values)
        yield
    finally:
        apply_environment({name: old for name, old in before.items() if os.environ.get(name) == values[name]})
