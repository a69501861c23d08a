"""The data of a matplotlib figure: what a reader would take from the picture, as JSON."""

import contextlib
import functools
import re
import weakref

from .mime import json_safe

MAX_POINTS = 1000
MAX_ELEMENTS = 500
MAX_CHARTS = 50

_boxes: "weakref.WeakKeyDictionary" = weakref.WeakKeyDictionary()


def describe_figure(figure) -> dict | None:
    """The chart of a figure: `type`, `title`, `elements` and more by type; several axes make a `superchart`.

    None for a figure without axes, and for one that cannot be read: the picture must not fail for that.
    """
    try:
        return _describe(figure)
    except Exception:
        return None


def _describe(figure) -> dict | None:
    all_axes = [axes for axes in figure.axes if not _is_colorbar(axes)]
    charts = [describe_axes(axes) for axes in all_axes[:MAX_CHARTS] if axes.get_visible()]
    if len(charts) < 2:
        return charts[0] if charts else None
    title = figure._suptitle.get_text() if getattr(figure, "_suptitle", None) else ""
    truncated = len(all_axes) > MAX_CHARTS or any(chart.get("truncated") for chart in charts)
    return {"type": "superchart", "title": title, "elements": charts, "truncated": truncated}


def _is_colorbar(axes) -> bool:
    return axes.get_label() == "<colorbar>" or hasattr(axes, "_colorbar")


def describe_axes(axes) -> dict:
    """The chart of one axes."""
    for reader in (_pie, _box_and_whisker, _bar, _points):
        chart = reader(axes)
        if chart is not None:
            return _capped(chart)
    return {**_labels(axes, "unknown"), "elements": []}


def _capped(chart: dict) -> dict:
    truncated = len(chart["elements"]) > MAX_ELEMENTS
    chart["elements"] = chart["elements"][:MAX_ELEMENTS]
    for element in chart["elements"]:
        for name in ("points", "outliers"):
            values = element.get(name, ())
            if len(values) > MAX_POINTS:
                element[name] = values[:MAX_POINTS]
                truncated = True
    chart["elements"] = json_safe(chart["elements"])
    chart["truncated"] = truncated
    return chart


def _labels(axes, kind: str) -> dict:
    x_label, y_label = axes.get_xlabel(), axes.get_ylabel()
    return {
        "type": kind,
        "title": axes.get_title() or axes.get_title("left") or axes.get_title("right"),
        "x_label": x_label,
        "y_label": y_label,
        "x_unit": _unit(x_label),
        "y_unit": _unit(y_label),
    }


def _unit(label: str) -> str | None:
    match = re.search(r"[(\[]([^)\]]+)[)\]]\s*$", label)
    return match.group(1) if match else None


def _pie(axes) -> dict | None:
    from matplotlib.patches import Wedge

    wedges = [patch for patch in axes.patches if isinstance(patch, Wedge)]
    if not wedges:
        return None
    texts = [text.get_text() for text in axes.texts]
    elements = []
    for position, wedge in enumerate(wedges):
        label = _public_label(wedge)
        if not label and len(texts) >= len(wedges):
            label = texts[position * (len(texts) // len(wedges))]
        elements.append({"label": label, "angle": abs(wedge.theta2 - wedge.theta1), "radius": wedge.r})
    return {"type": "pie", "title": axes.get_title(), "elements": elements}


def recording_boxes(bxp):
    """Wraps `Axes.bxp`, which draws all box plots: their quartiles cannot be read back from the lines."""
    if hasattr(bxp, "_pandastack_original"):
        return bxp

    @functools.wraps(bxp)
    def call(axes, bxpstats, *args, **kwargs):
        artists = bxp(axes, bxpstats, *args, **kwargs)
        with contextlib.suppress(Exception):
            _boxes.setdefault(axes, []).extend(zip(bxpstats, artists["medians"], strict=True))
        return artists

    call._pandastack_original = bxp
    return call


def _box_and_whisker(axes) -> dict | None:
    drawn = [(stats, line) for stats, line in _boxes.get(axes, ()) if line.axes is axes]
    if not drawn:
        return None
    elements = []
    for stats, line in drawn:
        elements.append(
            {
                "label": _box_label(axes, stats, line),
                "min": stats["whislo"],
                "first_quartile": stats["q1"],
                "median": stats["med"],
                "third_quartile": stats["q3"],
                "max": stats["whishi"],
                "outliers": list(stats.get("fliers", ())),
            }
        )
    return {**_labels(axes, "box_and_whisker"), "elements": elements}


def _box_label(axes, stats: dict, line) -> str:
    center, height = (sum(values) / len(values) for values in (line.get_xdata(), line.get_ydata()))
    for axis, position in ((axes.xaxis, center), (axes.yaxis, height)):
        label = _tick_label(axis, position)
        if label and not _is_number(label):
            return label
    return str(stats.get("label") or _tick_label(axes.xaxis, center) or "")


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-−+]?[\d.,]+(e[-+]?\d+)?", text) is not None


def _bar(axes) -> dict | None:
    from matplotlib.container import BarContainer

    containers = [container for container in axes.containers if isinstance(container, BarContainer)]
    elements = []
    for container in containers:
        group = _public_label(container)
        horizontal = getattr(container, "orientation", "vertical") == "horizontal"
        for patch in container.patches[: MAX_ELEMENTS + 1]:
            elements.append({"label": _bar_label(axes, patch, horizontal), "group": group,
                             "value": patch.get_width() if horizontal else patch.get_height()})  # fmt: skip
    return {**_labels(axes, "bar"), "elements": elements} if elements else None


def _bar_label(axes, patch, horizontal: bool) -> str:
    axis = axes.yaxis if horizontal else axes.xaxis
    start, extent = (patch.get_y(), patch.get_height()) if horizontal else (patch.get_x(), patch.get_width())
    center = start + extent / 2
    for position in (center, start):
        label = _tick_label(axis, position, tolerance=abs(extent) / 2)
        if label and _has_names(axis):
            return label
    if _scale(axis) == "datetime":
        return str(_value(axis, center))
    return f"{center:g}"


def _has_names(axis) -> bool:
    from matplotlib.ticker import FixedFormatter, FuncFormatter

    return _scale(axis) == "categorical" or isinstance(axis.get_major_formatter(), (FixedFormatter, FuncFormatter))


def _tick_label(axis, position: float, tolerance: float = 1e-6) -> str | None:
    ticks = axis.get_majorticklocs()
    labels = axis.get_majorticklabels()
    near = [(abs(tick - position), label) for tick, label in zip(ticks, labels, strict=False)]
    distance, label = min(near, key=lambda pair: pair[0], default=(None, None))
    return label.get_text() if label is not None and distance <= tolerance + 1e-9 else None


def _points(axes) -> dict | None:
    from matplotlib.collections import PathCollection

    lines = [line for line in axes.lines if _is_in_data(line, axes) and len(line.get_xdata())]
    scatters = [collection for collection in axes.collections if isinstance(collection, PathCollection)]
    elements = [{"label": _public_label(line), "points": _line_points(axes, line)} for line in lines[:MAX_ELEMENTS]]
    elements += [{"label": _public_label(dots), "points": _dots(axes, dots)} for dots in scatters[:MAX_ELEMENTS]]
    if not elements:
        return None
    only_lines = not scatters and any(line.get_linestyle() not in ("None", "", " ") for line in lines)
    chart = _labels(axes, "line" if only_lines else "scatter")
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        ticks, labels = _ticks(axis)
        chart.update({f"{name}_ticks": ticks, f"{name}_tick_labels": labels, f"{name}_scale": _scale(axis)})
    return {**chart, "elements": elements}


def _is_in_data(line, axes) -> bool:
    # axhline and its kind are measured in fractions of the axes: no series of data.
    return all(line.get_transform().contains_branch_seperately(axes.transData))


def _line_points(axes, line) -> list:
    x_values, y_values = line.get_xdata(orig=False), line.get_ydata(orig=False)
    return _pairs(axes, x_values, y_values)


def _dots(axes, collection) -> list:
    offsets = collection.get_offsets()
    return _pairs(axes, offsets[:, 0], offsets[:, 1])


def _pairs(axes, x_values, y_values) -> list:
    pairs = zip(x_values[: MAX_POINTS + 1], y_values[: MAX_POINTS + 1], strict=False)
    return [[_value(axes.xaxis, x), _value(axes.yaxis, y)] for x, y in pairs]


def _ticks(axis) -> tuple[list, list]:
    low, high = sorted(axis.get_view_interval())
    pairs = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=False)
    shown = [(tick, label.get_text()) for tick, label in pairs if low <= tick <= high][:MAX_ELEMENTS]
    return json_safe([_value(axis, tick) for tick, _ in shown]), [label for _, label in shown]


def _value(axis, number):
    """What a coordinate stands for: a date in ISO form, a category, or the number."""
    scale = _scale(axis)
    if scale == "datetime" and _is_matplotlib_date(axis):
        from matplotlib.dates import num2date

        return num2date(number).isoformat().replace("+00:00", "")
    if scale == "categorical":
        names = {position: name for name, position in axis.units._mapping.items()}
        return names.get(round(float(number)), float(number))
    return json_safe(number)


def _is_matplotlib_date(axis) -> bool:
    return "Period" not in type(_converter(axis)).__name__


def _scale(axis) -> str:
    name = type(_converter(axis)).__name__
    if name == "StrCategoryConverter":
        return "categorical"
    if "Date" in name or "Period" in name or "Time" in name:
        return "datetime"
    return axis.get_scale()


def _converter(axis):
    get = getattr(axis, "get_converter", None)
    return get() if get is not None else axis.converter


def _public_label(artist) -> str:
    label = str(artist.get_label() or "")
    return "" if label.startswith("_") else label
