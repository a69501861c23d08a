"""Charts: PNG, structured data, no figure twice, none lost."""

import base64
import json

import pytest

pytest.importorskip("matplotlib")

SETUP = "import matplotlib.pyplot as plt, numpy as np\n"
CHART = "application/vnd.pandastack.chart+json"


def png_size(result: dict) -> tuple[int, int]:
    data = base64.b64decode(result["data"]["image/png"])
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def chart(kernel, code: str) -> dict:
    execution = kernel.run(SETUP + code)
    assert execution.status == "ok", execution.error
    assert execution.stderr == ""
    pictures = [result for result in execution.results if "image/png" in result["data"]]
    assert len(pictures) == 1
    assert min(png_size(pictures[0])) > 100
    return json.loads(pictures[0]["data"][CHART])


@pytest.mark.parametrize(
    "code",
    [
        "plt.plot([1, 2])\nplt.show()",
        "plt.plot([1, 2]);",
        "fig, ax = plt.subplots()\nax.plot([1, 2])\nfig",
        "fig, ax = plt.subplots()\nax.plot([1, 2])\nfig.show()",
        "fig, ax = plt.subplots()\nax.plot([1, 2])\ndisplay(fig)",
        "plt.plot([1, 2])\nplt.show()\nplt.show()",
        "plt.plot([1, 2])\nplt.savefig('a.png')\nplt.show()",
        "from matplotlib.figure import Figure\nf = Figure()\nf.subplots().plot([1, 2])\nf",
        "%matplotlib inline\nplt.plot([1, 2])\nplt.show()",
        "import matplotlib\nmatplotlib.use('Agg')\nplt.plot([1, 2])\nplt.show()",
        "plt.ion()\nplt.plot([1, 2])\nplt.show()",
        "%config InlineBackend.figure_format = 'retina'\nplt.plot([1, 2])",
        "fig, ax = plt.subplots(layout='constrained')\nax.plot([1, 2])\ndisplay(fig)",
    ],
)
def test_one_figure_is_one_picture(kernel, code):
    assert chart(kernel, code)["type"] == "line"
    assert kernel.run("len(plt.get_fignums())").text == "0"
    assert kernel.run("1").results[0]["data"] == {"text/plain": "1"}


def test_figure_that_is_the_value_is_the_main_result(kernel):
    execution = kernel.run(SETUP + "fig, ax = plt.subplots()\nax.plot([1, 2])\nfig")
    assert [result["is_main"] for result in execution.results] == [True]
    assert execution.text.startswith("<Figure size 640x480")


def test_figure_that_changed_after_it_was_shown_is_shown_again(kernel):
    execution = kernel.run(SETUP + "fig, ax = plt.subplots()\nax.plot([1, 2])\ndisplay(fig)\nax.set_title('more')")
    titles = [json.loads(r["data"][CHART])["title"] for r in execution.results if CHART in r["data"]]
    assert titles == ["", "more"]


def test_figures_come_in_order_and_also_when_the_cell_fails(kernel):
    execution = kernel.run(
        SETUP + "for n in 'ab':\n    plt.figure()\n    plt.plot([1])\n    plt.title(n)\nplt.figure(1)\n1/0"
    )
    titles = [json.loads(r["data"][CHART])["title"] for r in execution.results]
    assert titles == ["a", "b"] and execution.error["name"] == "ZeroDivisionError"


def test_figure_that_cannot_be_drawn_is_an_error(kernel):
    execution = kernel.run(SETUP + "plt.figure(); plt.title('$\\\\frac{$'); plt.figure(); plt.plot([1, 2])")
    assert execution.status == "error" and "Expected" in execution.error["text"]
    assert sum("image/png" in result["data"] for result in execution.results) == 1
    assert kernel.run("len(plt.get_fignums())").text == "0"


def test_blank_figure_gives_no_picture(kernel):
    execution = kernel.run(SETUP + "plt.figure()\nplt.show()")
    assert all("image/png" not in result["data"] for result in execution.results)


def test_savefig_writes_a_file(kernel):
    kernel.run(SETUP + "plt.plot([1, 2])\nplt.savefig('a.png')\nplt.close()")
    assert kernel.run("open('a.png', 'rb').read(4)").text == r"b'\x89PNG'"


def test_programs_of_a_cell_use_their_own_backend(kernel):
    execution = kernel.run(
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'import matplotlib.pyplot as p; p.plot([1]); print(p.get_backend())'])"
    )
    assert execution.stdout.lower() == "agg\n"


def test_svg_on_request(kernel):
    kernel.run("%config InlineBackend.figure_formats = ['svg']")
    result = kernel.run(SETUP + "plt.plot([1])").results[-1]
    assert result["data"]["image/svg+xml"].lstrip().startswith("<?xml") and "image/png" in result["data"]


def test_line(kernel):
    data = chart(kernel, "plt.plot([1, 2, 3], [4, np.nan, 6], label='a')\nplt.axhline(5)\nplt.title('T')\n"
                         "plt.xlabel('time (s)')\nplt.ylabel('load')\nplt.legend()\nNone")  # fmt: skip
    assert (data["type"], data["title"], data["x_label"], data["y_label"]) == ("line", "T", "time (s)", "load")
    assert (data["x_unit"], data["y_unit"], data["x_scale"], data["y_scale"]) == ("s", None, "linear", "linear")
    assert data["elements"] == [{"label": "a", "points": [[1, 4], [2, None], [3, 6]]}]
    assert len(data["x_ticks"]) == len(data["x_tick_labels"]) > 1


def test_dates_categories_and_log(kernel):
    data = chart(kernel, "import datetime as d\nplt.plot([d.date(2024, 1, 1), d.date(2024, 1, 2)], [1, 2])\nNone")
    assert data["x_scale"] == "datetime" and data["elements"][0]["points"][0] == ["2024-01-01T00:00:00", 1]
    data = chart(kernel, "plt.plot(['a', 'b'], [1, 2])\nplt.yscale('log')\nNone")
    assert (data["x_scale"], data["y_scale"]) == ("categorical", "log")
    assert data["elements"][0]["points"] == [["a", 1], ["b", 2]] and data["x_ticks"] == ["a", "b"]


def test_scatter(kernel):
    data = chart(kernel, "plt.scatter([1, 2], [3, 4], label='s')\nplt.colorbar()\nNone")
    assert (data["type"], data["elements"]) == ("scatter", [{"label": "s", "points": [[1, 3], [2, 4]]}])
    assert chart(kernel, "plt.plot([1, 2], [3, 4], 'o')\nNone")["type"] == "scatter"


def test_bar(kernel):
    data = chart(kernel, "plt.bar(['a', 'b'], [3, 4], label='g')\nplt.bar(['a', 'b'], [1, 1], bottom=[3, 4])\nNone")
    assert data["type"] == "bar"
    assert data["elements"] == [
        {"label": "a", "group": "g", "value": 3}, {"label": "b", "group": "g", "value": 4},
        {"label": "a", "group": "", "value": 1}, {"label": "b", "group": "", "value": 1},
    ]  # fmt: skip
    data = chart(kernel, "plt.barh(['a', 'b'], [3, 4])\nNone")
    assert [(e["label"], e["value"]) for e in data["elements"]] == [("a", 3), ("b", 4)]
    data = chart(kernel, "plt.bar([0, 1], [3, 4])\nplt.xticks([0, 1], ['x', 'y'])\nNone")
    assert [e["label"] for e in data["elements"]] == ["x", "y"]
    data = chart(kernel, "plt.hist([1, 1, 2, 3], bins=2)\nNone")
    assert [(e["label"], e["value"]) for e in data["elements"]] == [("1.5", 2), ("2.5", 2)]


def test_bar_of_pandas(kernel):
    pytest.importorskip("pandas")
    data = chart(
        kernel, "import pandas as pd\npd.DataFrame({'p': [1, 2], 'q': [3, 4]}, index=['a', 'b']).plot.bar()\nNone"
    )
    assert [(e["label"], e["group"], e["value"]) for e in data["elements"]] == [
        ("a", "p", 1), ("b", "p", 2), ("a", "q", 3), ("b", "q", 4)]  # fmt: skip


def test_pie(kernel):
    data = chart(kernel, "plt.pie([1, 3], labels=['a', 'b'], autopct='%d')\nplt.title('P')\nNone")
    assert (data["type"], data["title"]) == ("pie", "P")
    assert [(e["label"], round(e["angle"]), e["radius"]) for e in data["elements"]] == [("a", 90, 1), ("b", 270, 1)]


def test_box(kernel):
    data = chart(kernel, "plt.boxplot([[1, 2, 3, 4, 50], [1, 1, 1]])\nplt.xticks([1, 2], ['a', 'b'])\nNone")
    assert data["type"] == "box_and_whisker"
    assert data["elements"][0] == {
        "label": "a", "min": 1, "first_quartile": 2, "median": 3, "third_quartile": 4, "max": 4, "outliers": [50]
    }  # fmt: skip
    assert data["elements"][1]["label"] == "b"


def test_superchart_and_unknown(kernel):
    data = chart(kernel, "f, (a, b) = plt.subplots(1, 2)\na.plot([1])\nb.bar([1], [2])\nf.suptitle('S')\nNone")
    assert (data["type"], data["title"], [c["type"] for c in data["elements"]]) == ("superchart", "S", ["line", "bar"])
    assert chart(kernel, "plt.imshow(np.eye(3))\nNone")["type"] == "unknown"


def test_data_is_capped(kernel):
    data = chart(kernel, "plt.plot(np.arange(100_000))\nNone")
    assert data["truncated"] and len(data["elements"][0]["points"]) == 1000
