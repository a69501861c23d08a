"""Results: MIME types, display ids, tables, values that are hard to send."""

import json

import pytest


def test_display_and_value_are_separate_results(kernel):
    results = kernel.run("from IPython.display import *\ndisplay(HTML('<b>x</b>'), display_id='d')\n'v'").results
    assert [(r["is_main"], r["data"]) for r in results] == [
        (False, {"text/html": "<b>x</b>", "text/plain": "<IPython.core.display.HTML object>"}),
        (True, {"text/plain": "'v'"}),
    ]
    assert results[0]["display_id"] == "d" and not results[0]["update"]


def test_update_display_and_clear_output(kernel):
    execution = kernel.run(
        "from IPython.display import *\nh = display(1, display_id=True)\nh.update(2)\nclear_output(wait=True)\ndisplay(3)"
    )
    kinds = [(kind, message.get("update"), message.get("wait")) for kind, message in execution.events]
    assert kinds == [
        ("result", False, None),
        ("result", True, None),
        ("clear_output", None, True),
        ("result", False, None),
    ]
    first, second, _ = execution.results
    assert first["display_id"] == second["display_id"] and second["data"]["text/plain"] == "2"


def test_display_is_sent_while_the_cell_runs(kernel):
    started = kernel.start("display(1)\nimport time\ntime.sleep(300)")
    partial = kernel.wait(started, until=lambda execution: execution.results)
    assert partial.results[0]["data"] == {"text/plain": "1"}
    kernel.interrupt()
    assert kernel.wait(started).status == "interrupted"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("{1: float('nan'), 'b': [float('inf')], (1, 2): None}", '{"1": null, "b": [null], "(1, 2)": null}'),
        ("{'s': {1}, 'd': __import__('datetime').date(2024, 1, 2)}", '{"s": [1], "d": "2024-01-02"}'),
        ("[10**30, 'é', object]", '[1000000000000000000000000000000, "é", "<class \'object\'>"]'),
    ],
)
def test_json_is_always_valid(kernel, value, text):
    result = kernel.run(f"display({{'application/json': {value}}}, raw=True)").results[0]
    assert result["data"]["application/json"] == text


def test_json_of_numpy_and_of_endless_structures(kernel):
    pytest.importorskip("numpy")
    code = "import numpy as np\ndisplay({'application/json': {np.int64(1): np.float32('nan'), 'a': np.arange(2)}}, raw=True)"
    assert kernel.run(code).results[0]["data"]["application/json"] == '{"1": null, "a": [0, 1]}'
    execution = kernel.run("a = []; a.append(a); display({'application/json': a}, raw=True); a")
    assert execution.status == "ok" and execution.text == "[[...]]"
    json.loads(execution.results[0]["data"]["application/json"])


def test_images_are_base64_and_svg_is_text(kernel):
    code = "from IPython.display import *\ndisplay(Image(b'\\x89PNG\\r\\n\\x1a\\n'))\ndisplay(SVG('<svg/>'))"
    first, second = kernel.run(code).results
    assert first["data"]["image/png"].strip() == "iVBORw0KGgo="
    assert second["data"]["image/svg+xml"] == "<svg/>"


def test_long_collections_are_complete(kernel):
    text = kernel.run("list(range(3000))").text
    assert json.loads(text) == list(range(3000))


def test_result_that_is_too_large_is_named_not_lost(kernel):
    execution = kernel.run("from IPython.display import HTML\nHTML('x' * 300_000_000)")
    assert execution.status == "ok" and execution.results == []
    assert "result of 3000000" in execution.stderr and "left out" in execution.stderr
    execution = kernel.run("HTML('\N{GRINNING FACE}' * 20_000_000)")
    assert execution.results == [] and "result of 80000" in execution.stderr
    execution = kernel.run("display(HTML('\\x01' * 20_000_000)); 'went on'")
    assert execution.text == "'went on'" and len(execution.results) == 1 and "result of 120000" in execution.stderr
    assert len(kernel.run("HTML('x' * 48_000_000)").results[0]["data"]["text/html"]) == 48_000_000
    assert kernel.run("1").text == "1"


def test_value_is_hidden_by_semicolon_and_kept_in_underscore(kernel):
    assert kernel.run("5").text == "5"
    assert kernel.run("_ + 1").text == "6"
    assert kernel.run("7; # quiet").results == []
    assert kernel.run("None").results == []
    assert kernel.run("Out[1]").text == "5"


def test_objects_that_display_themselves_are_the_main_result(kernel):
    execution = kernel.run(
        "class A:\n    def _ipython_display_(self): display({'text/html': 'me'}, raw=True)\ndisplay(A())\nA()"
    )
    assert [r["is_main"] for r in execution.results] == [False, True]


def test_markdown_latex_and_sympy(kernel):
    assert kernel.run("from IPython.display import *\nMarkdown('# h')").results[0]["data"]["text/markdown"] == "# h"
    pytest.importorskip("sympy")
    data = kernel.run("import sympy\nsympy.init_printing()\nsympy.sqrt(8)").results[0]["data"]
    assert "sqrt{2}" in data["text/latex"] and "text/plain" in data


def test_help_is_a_result(kernel):
    text = kernel.run("len?").results[0]["data"]["text/plain"]
    assert "number of items" in text and "\x1b" not in text


def test_dataframe(kernel):
    pytest.importorskip("pandas")
    kernel.run("import pandas as pd, numpy as np")
    code = ("pd.DataFrame({'a': [1, 2], 'b': ['x', None], 'c': [1.5, np.nan],"
            " 'd': pd.to_datetime(['2024-01-02', None])}, index=['p', 'q'])")  # fmt: skip
    data = kernel.run(code).results[0]["data"]
    assert "<table" in data["text/html"] and "2024-01-02" in data["text/plain"]
    table = json.loads(data["application/vnd.pandastack.dataframe+json"])
    assert [column["name"] for column in table["columns"]] == ["a", "b", "c", "d"]
    assert table["columns"][0]["dtype"] == "int64"
    assert table["index"] == ["p", "q"]
    assert table["rows"] == [[1, "x", 1.5, "2024-01-02T00:00:00"], [2, None, None, None]]
    assert (table["row_count"], table["column_count"], table["truncated"]) == (2, 4, False)


def test_large_and_odd_dataframes(kernel):
    pytest.importorskip("pandas")
    kernel.run("import pandas as pd, numpy as np")
    data = kernel.run("pd.DataFrame(np.zeros((1000, 80)))").results[0]["data"]
    table = json.loads(data["application/vnd.pandastack.dataframe+json"])
    assert (len(table["rows"]), len(table["columns"]), table["row_count"], table["truncated"]) == (100, 50, 1000, True)
    code = (
        "pd.DataFrame([[1, {'k': (1,)}, pd.NA, 'x' * 5000]], columns=pd.MultiIndex.from_product([['a', 'b'], [1, 2]]))"
    )
    table = json.loads(kernel.run(code).results[0]["data"]["application/vnd.pandastack.dataframe+json"])
    assert table["rows"][0][:3] == [1, '{"k": [1]}', None] and table["truncated"]
    assert table["columns"][0]["name"] == "a / 1"
    assert kernel.run("pd.DataFrame()").status == "ok"


def test_results_of_threads_are_all_sent(kernel):
    execution = kernel.run(
        "import threading\ndef show(n):\n    for i in range(50): display(n * 100 + i)\n"
        "threads = [threading.Thread(target=show, args=(n,)) for n in range(4)]\n"
        "for t in threads: t.start()\nfor t in threads: t.join()"
    )
    shown = sorted(int(result["data"]["text/plain"]) for result in execution.results)
    assert shown == sorted(n * 100 + i for n in range(4) for i in range(50))


def test_odd_display_arguments_keep_the_types_of_the_protocol(kernel):
    execution = kernel.run(
        "from IPython.display import *\nfrom IPython import get_ipython\n"
        "get_ipython().display_pub.publish({'text/plain': 'a', 5: 6, 'text/html': None}, transient={'display_id': 7}, update=1)\n"
        "clear_output(wait=3)"
    )
    message = execution.results[0]
    assert message["data"] == {"text/plain": "a", "5": "6"}
    assert (message["display_id"], message["update"]) == ("7", True)
    assert execution.events[1][1]["wait"] is True


def test_formatters_for_plain_types_are_used(kernel):
    kernel.run("get_ipython().display_formatter.formatters['text/html'].for_type(int, lambda value: f'<b>{value}</b>')")
    assert kernel.run("5").results[0]["data"] == {"text/html": "<b>5</b>", "text/plain": "5"}
    kernel.run("%precision 2")
    assert kernel.run("3.14159").text == "3.14"
    assert kernel.run("'a'").results[0]["data"] == {"text/plain": "'a'"}
