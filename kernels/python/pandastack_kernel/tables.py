"""The first rows and columns of a DataFrame as JSON, beside its HTML."""

import json

from .mime import json_safe

DATAFRAME_MIME = "application/vnd.pandastack.dataframe+json"
MAX_ROWS = 100
MAX_COLUMNS = 50
MAX_CELL_CHARACTERS = 1000


def install(shell) -> None:
    """Registers a formatter for DataFrames, and shows as many columns as a notebook does."""
    formatter = shell.display_formatter.mimebundle_formatter
    for module in ("pandas.core.frame", "pandas"):
        formatter.for_type_by_name(module, "DataFrame", frame_bundle)
    try:
        import pandas
    except ImportError:
        return
    pandas.set_option("display.max_columns", 20)


def frame_bundle(frame, include=None, exclude=None) -> dict:
    """`columns`, `index`, `rows`, `row_count`, `truncated` of a DataFrame; empty if it cannot be read."""
    try:
        return {DATAFRAME_MIME: json.dumps(_describe(frame), allow_nan=False, ensure_ascii=False)}
    except Exception:
        return {}


def _describe(frame) -> dict:
    part = frame.iloc[:MAX_ROWS, :MAX_COLUMNS]
    table = _Cells()
    columns = zip(part.columns, part.dtypes, strict=True)
    return {
        "columns": [{"name": table.label(name), "dtype": str(dtype)} for name, dtype in columns],
        "index": [table.label(label) for label in part.index],
        "rows": [[table.cell(value) for value in row] for row in part.itertuples(index=False, name=None)],
        "row_count": len(frame),
        "column_count": frame.shape[1],
        "truncated": table.shortened or frame.shape != part.shape,
    }


class _Cells:
    """Converts values and notes whether one had to be shortened."""

    def __init__(self):
        self.shortened = False

    def cell(self, value):
        value = json_safe(value)
        if isinstance(value, (list, dict)):
            value = json.dumps(value, ensure_ascii=False)
        if isinstance(value, str) and len(value) > MAX_CELL_CHARACTERS:
            self.shortened = True
            return value[:MAX_CELL_CHARACTERS]
        return value

    def label(self, value) -> str:
        text = " / ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        return self.cell(text)
