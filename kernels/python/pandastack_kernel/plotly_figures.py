"""Figures of plotly become results: HTML, and a PNG made by a renderer process that is started on demand."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import types
import warnings

from IPython.display import display

from .import_hooks import when_imported

# A renderer that has been idle for this long is ended: it would make a snapshot several times as large.
IDLE_SECONDS = 5.0
_RENDER_SECONDS = 30.0


def install(shell) -> None:
    """Shows figures by `display`, as the value of a cell, and by `fig.show()` with whatever renderer is chosen."""
    formatter = shell.display_formatter.ipython_display_formatter
    formatter.for_type_by_name("plotly.basedatatypes", "BaseFigure", show)
    when_imported("plotly.io._renderers", _replace_show)
    when_imported("plotly.offline.offline", _replace_notebook_mode)
    when_imported("kaleido.scopes.base", _group_renderer)


def _replace_show(module) -> None:
    module.show = lambda fig, *args, **kwargs: show(fig)


def _replace_notebook_mode(module) -> None:
    module.init_notebook_mode = lambda *args, **kwargs: None


def _group_renderer(module) -> None:
    module.subprocess = types.SimpleNamespace(Popen=_start_renderer, PIPE=subprocess.PIPE)


def _start_renderer(*args, **kwargs) -> subprocess.Popen:
    # A browser reserves more address space than a kernel may have, and it inherits the limit.
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    try:
        # It is a tree of processes: in a group of its own it can be ended as a whole.
        return subprocess.Popen(*args, process_group=0, **kwargs)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def show(figure) -> None:
    """Displays a figure or its dict form: `text/html`, `image/png` if it can be drawn, and `text/plain`."""
    import plotly.graph_objects as graph_objects
    import plotly.io as plotly_io

    if not hasattr(figure, "to_dict"):
        figure = graph_objects.Figure(figure)
    bundle = {
        "text/plain": _summary(figure),
        "text/html": plotly_io.to_html(figure, include_plotlyjs="cdn", full_html=False, validate=False),
        "application/json": figure.to_json(),
    }
    image = _png(figure)
    if image is not None:
        bundle["image/png"] = image
    display(bundle, raw=True)


def _summary(figure) -> str:
    title = figure.layout.title.text or ""
    traces = ", ".join(trace.type for trace in figure.data[:10])
    return f"plotly Figure({', '.join(filter(None, [repr(title) if title else '', traces]))})"


def _png(figure) -> bytes | None:
    try:
        import kaleido  # noqa: F401
    except ImportError:
        return None
    watchdog = threading.Timer(_RENDER_SECONDS, _kill_renderer)
    watchdog.daemon = True
    watchdog.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return figure.to_image(format="png")
    except Exception as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        print(f"plotly figure has no PNG, only HTML: {reason[0]}", file=sys.stderr)
        return None
    finally:
        watchdog.cancel()


def _scope():
    module = sys.modules.get("plotly.io._kaleido")
    return getattr(module, "scope", None)


def renderer_is_running() -> bool:
    """Whether a renderer process exists."""
    return getattr(_scope(), "_proc", None) is not None


def end_renderer() -> None:
    """Ends the renderer process; the next figure starts a new one."""
    process = _kill_renderer()
    if process is not None:
        process.wait()
        _wait_for_group(process.pid)
        process.stdin.close()
        _scope()._proc = None


def _wait_for_group(group: int) -> None:
    # The killed helpers of the renderer end a moment after it; until then a checkpoint would still contain them.
    deadline = time.monotonic() + 1
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < deadline:
            os.killpg(group, 0)
            time.sleep(0.005)


def _kill_renderer() -> subprocess.Popen | None:
    process = getattr(_scope(), "_proc", None)
    if process is not None and process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return process
