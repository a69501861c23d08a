"""Snapshots, forks and hibernation with the official Python package, unmodified."""

import pytest
from pandastack import Client, Sandbox
from pandastack.exceptions import NotFoundError, PandastackError


@pytest.fixture
def made():
    """Sandboxes to be killed after the test."""
    sandboxes = []
    yield sandboxes
    for each in sandboxes:
        try:
            each.kill()
        except NotFoundError:
            pass


@pytest.fixture
def client(sandbox):
    return Client()


def test_from_snapshot_has_imports_and_data_still_loaded(sandbox, made, client):
    ctx = sandbox.create_code_context()
    ctx.run_code("import pandas as pd; frame = pd.DataFrame({'a': [40, 2]})")
    sandbox.filesystem.write("/root/kept.txt", "kept")
    snapshot_id = sandbox.snapshot()
    ctx.run_code("del frame")

    copy = Sandbox.create(from_snapshot=snapshot_id)
    made.append(copy)
    inherited = copy.create_code_context()
    assert inherited.run_code("int(frame.a.sum())").text == "42"
    assert copy.filesystem.read("/root/kept.txt") == b"kept"
    assert "NameError" in ctx.run_code("frame").error

    listed = client.snapshots.list(sandbox_id=sandbox.id)
    assert [item["id"] for item in listed] == [snapshot_id]
    assert listed[0]["template"] == "code-interpreter" and listed[0]["size_bytes"] > 0
    assert client.snapshots.get(snapshot_id)["sandbox_id"] == sandbox.id
    client.snapshots.delete(snapshot_id)
    with pytest.raises(NotFoundError):
        Sandbox.create(from_snapshot=snapshot_id)


def test_fork(sandbox, made):
    sandbox.exec("echo parent > /root/who")
    child = sandbox.fork(metadata={"task": "a"})
    made.append(child)
    child.exec("echo child > /root/who")
    assert sandbox.exec("cat /root/who").stdout == "parent\n"
    assert child.exec("cat /root/who").stdout == "child\n"
    assert child.metadata["fork_parent_id"] == sandbox.id and child.metadata["task"] == "a"


def test_fork_tree_and_promote(sandbox, made):
    children = sandbox.fork_tree(3)
    made.extend(children)
    assert [child.metadata["fork_index"] for child in children] == ["0", "1", "2"]
    promotion = children[1].promote(cleanup_siblings=True)
    assert promotion["winner"] == children[1].id
    assert sorted(promotion["deleted"]) == sorted([children[0].id, children[2].id])
    assert children[1].exec("echo alive").stdout == "alive\n"
    with pytest.raises(NotFoundError):
        children[0].exec("true")


def test_explore(sandbox, made):
    result = sandbox.explore(["exit 1", "echo 7 > /root/answer"])
    made.append(result.winner)
    assert result.winner_outcome.label == "echo 7 > /root/answer"
    assert result.winner.exec("cat /root/answer").stdout == "7\n"
    assert len(result.reaped) == 1 and not result.reap_failures


def test_pause_and_resume(sandbox, client):
    sandbox.pause()
    assert client.sandboxes.get(sandbox.id).status == "paused"
    with pytest.raises(PandastackError, match="paused"):
        sandbox.exec("true")
    sandbox.resume()
    assert sandbox.exec("echo on").stdout == "on\n"


def test_hibernate_and_wake(sandbox, client):
    ctx = sandbox.create_code_context()
    ctx.run_code("x = 41")
    sandbox.hibernate()
    assert client.sandboxes.get(sandbox.id).status == "hibernated"
    sandbox.wake()
    sandbox.wake()
    assert ctx.run_code("x + 1").text == "42"
    sandbox.hibernate()
    assert ctx.run_code("x + 2").text == "43", "use wakes it"


def test_lifecycle(sandbox):
    sandbox.set_ttl(120)
    assert sandbox.lifecycle()["ttl_seconds"] == 120
    sandbox.hibernate()
    sandbox.set_persistent(True)
    assert sandbox.lifecycle()["persistent"] is True
