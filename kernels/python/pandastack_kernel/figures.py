"""Figures of matplotlib become results: one PNG and the data of the chart for each."""

import io
import json
import os
import sys
import weakref

from IPython.display import display
from traitlets import Bool, Dict, Set, Unicode, observe
from traitlets.config import SingletonConfigurable

from .charts import describe_figure

BACKEND = "module://pandastack_kernel.matplotlib_backend"
CHART_MIME = "application/vnd.pandastack.chart+json"

_MIME_OF_FORMAT = {"svg": "image/svg+xml", "jpeg": "image/jpeg", "jpg": "image/jpeg", "pdf": "application/pdf"}
_shown: "weakref.WeakSet" = weakref.WeakSet()
_failures: list[Exception] = []


class InlineBackend(SingletonConfigurable):
    """What notebooks set by `%config InlineBackend.…`."""

    figure_formats = Set({"png"}, help="png, retina, svg, jpeg or pdf; a PNG is always made").tag(config=True)
    figure_format = Unicode("png", help="one of figure_formats").tag(config=True)
    print_figure_kwargs = Dict({"bbox_inches": "tight"}, help="arguments for print_figure").tag(config=True)
    close_figures = Bool(True, help="whether figures are closed when a cell ends").tag(config=True)
    rc = Dict({}, help="settings of matplotlib").tag(config=True)

    @observe("figure_format")
    def _use_format(self, change):
        self.figure_formats = {change["new"]}

    @observe("rc")
    def _use_settings(self, change):
        sys.modules["matplotlib"].rcParams.update(change["new"])


def install(shell) -> None:
    """Registers formatters for figures and, if matplotlib is there, the backend."""
    shell.configurables.append(InlineBackend.instance(parent=shell))
    formatter = shell.display_formatter.mimebundle_formatter
    formatter.for_type_by_name("matplotlib.figure", "Figure", figure_bundle)
    select_backend()


def select_backend() -> None:
    """Makes pyplot use the backend of the kernel. Programs that a cell starts use their own default."""
    try:
        import matplotlib
    except ImportError:
        return
    chosen = os.environ.get("MPLBACKEND")
    matplotlib.use(BACKEND)
    _record_boxes()
    if chosen is not None:
        os.environ["MPLBACKEND"] = chosen


def _record_boxes() -> None:
    from matplotlib.axes import Axes

    from .charts import recording_boxes

    Axes.bxp = recording_boxes(Axes.bxp)


def figure_bundle(figure, include=None, exclude=None) -> dict:
    """MIME types of a figure: PNG, further formats that were asked for, and the chart. Empty for a blank figure."""
    if not figure.axes and not figure.lines and not figure.texts and not figure.images:
        return {}
    _shown.add(figure)
    try:
        return _drawn(figure)
    except Exception as error:
        _failures.append(error)
        return {}
    finally:
        figure.stale = False


def _drawn(figure) -> dict:
    settings = InlineBackend.instance()
    scale = 2 if settings.figure_formats & {"retina", "png2x"} else 1
    bundle = {"image/png": _render(figure, "png", scale)}
    for name in settings.figure_formats & set(_MIME_OF_FORMAT):
        bundle[_MIME_OF_FORMAT[name]] = _render(figure, name, 1)
    chart = describe_figure(figure)
    if chart is not None:
        bundle[CHART_MIME] = json.dumps(chart, ensure_ascii=False)
    return bundle


def _render(figure, name: str, scale: int) -> bytes:
    from matplotlib.backend_bases import FigureCanvasBase

    if figure.canvas is None:
        FigureCanvasBase(figure)
    buffer = io.BytesIO()
    options = {"facecolor": figure.get_facecolor(), "edgecolor": figure.get_edgecolor(), "dpi": figure.dpi * scale}
    figure.canvas.print_figure(buffer, format=name, **{**options, **InlineBackend.instance().print_figure_kwargs})
    return buffer.getvalue()


def show(figure) -> None:
    """Shows a figure unless the cell has already shown it as it is now."""
    if figure not in _shown or figure.stale:
        display(figure)


def show_all(close: bool = True) -> None:
    """Shows the figures of pyplot in the order of their numbers. One that cannot be drawn does not hide the others."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None:
        return
    for manager in sorted(helpers.Gcf.get_all_fig_managers(), key=lambda manager: manager.num):
        show(manager.canvas.figure)
    if close and InlineBackend.instance().close_figures:
        helpers.Gcf.destroy_all()
        _shown.clear()
    if _failures:
        error = _failures[0]
        _failures.clear()
        raise error
