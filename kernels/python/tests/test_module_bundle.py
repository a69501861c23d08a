"""A zygote that imports from a bundle is like one that does not, and opens fewer files."""

import marshal
import shutil
import subprocess
import sys

import pytest
from agent import PACKAGE_ROOT, Zygote

_LOOK = """
import importlib, inspect, json, pandas, sys, traceback
from importlib.machinery import SourceFileLoader
loaders = {type(m.__spec__.loader).__name__ for m in list(sys.modules.values()) if getattr(m, "__spec__", None)}
assert not any("bundle" in type(finder).__name__.lower() for finder in sys.meta_path)
assert type(json.__loader__) is type(json.__spec__.loader) is SourceFileLoader
assert "def head" in inspect.getsource(pandas.DataFrame.head)
assert "modules.bundle" not in open("/proc/self/maps").read()
assert importlib.reload(json).dumps([1]) == "[1]"
assert json.__cached__.endswith(".pyc") and pandas.__path__ == [pandas.__file__.rpartition("/")[0]]
sorted(loaders)
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the kernels' folder, which bundles may be put into."""
    shutil.copytree(PACKAGE_ROOT / "pandastack_kernel", tmp_path / "kernels/pandastack_kernel")
    return tmp_path / "kernels"


def write(package):
    subprocess.run([sys.executable, "-m", "pandastack_kernel.write_bundle"], cwd=package, check=True)
    return package / "modules.bundle"


def look(package, cwd):
    zygote = Zygote(env={"PYTHONPATH": str(package), "PYTHONSAFEPATH": "1"})
    kernel = zygote.fork(cwd=str(cwd))
    try:
        seen = kernel.run(_LOOK)
        assert seen.status == "ok", seen.error
        failed = kernel.run("pandas.DataFrame({'a': [1]})['b']")
        return seen.text, failed.error
    finally:
        kernel.close()
        zygote.close()


def test_modules_look_as_if_they_came_from_their_sources(package, tmp_path):
    pytest.importorskip("pandas")
    plain = look(package, tmp_path)
    bundle = write(package)
    with bundle.open("rb") as file:
        _, modules = marshal.load(file)
    assert {"pandas", "numpy", "json", "pandastack_kernel.kernel"} <= modules.keys()
    assert look(package, tmp_path) == plain
    assert not bundle.exists(), "a later zygote would not see what was installed since"


@pytest.mark.parametrize("content", [b"", b"\x00", marshal.dumps((b"other", {"json": 1})), marshal.dumps(1)])
def test_a_bundle_that_cannot_be_used_is_as_none(package, tmp_path, content):
    pytest.importorskip("pandas")
    (package / "modules.bundle").write_bytes(content)
    assert "SourceFileLoader" in look(package, tmp_path)[0]
