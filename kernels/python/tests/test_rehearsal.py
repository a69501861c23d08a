"""What a kernel does before its first cell, and again after a restore, leaves no trace."""


def test_a_first_cell_finds_no_trace(kernel):
    first = kernel.run("_, __, ___, Out, len(In)")
    assert (first.text, first.execution_count) == ("('', '', '', {}, 2)", 1)
    names = kernel.run("import linecache, os\nsorted(linecache.cache), sorted(globals()), sorted(os.environ)").text
    assert "<cell 2>" in names and "<cell 3>" not in names
    assert "rehearsal" not in names.lower()


def test_between_cells_it_changes_nothing(kernel):
    kernel.run("x = 41")
    kernel.run("x + 1")
    kernel.control.send({"type": "rehearse"})
    third = kernel.run("_ + 1")
    assert (third.text, third.execution_count) == ("43", 3)
    assert kernel.run("Out[2], In[1], x").text == "(42, 'x = 41', 41)"


def test_messages_that_come_with_it_are_kept_in_order(kernel):
    kernel.control.send({"type": "rehearse"})
    kernel.control.send({"type": "configure", "env": {"COLOUR": "green"}})
    kernel.start("import os; os.environ['COLOUR']")
    messages = [kernel.control.receive() for _ in range(3)]
    assert [message["type"] for message in messages] == ["configured", "result", "done"]
    assert messages[1]["data"]["text/plain"] == "'green'"
