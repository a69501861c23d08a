"""Figures of matplotlib: shown when a cell ends."""


def show_all() -> None:
    """Shows and closes the figures of pyplot."""
