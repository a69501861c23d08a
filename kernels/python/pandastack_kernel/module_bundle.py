"""Modules from one file: what the zygote imports, without a file of the template being opened for each.

gVisor keeps some thirty objects for every file that was ever opened, and writes and reads them all with each copy of a
sandbox: the sources and caches of 800 modules were half of its state.

`python3 -m pandastack_kernel.write_bundle` writes the file when a template is built. The first zygote of a sandbox
imports from it and removes it, so that a later one sees what was installed since.
"""

import contextlib
import importlib.util
import marshal
import mmap
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType
from typing import BinaryIO

_PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "modules.bundle")


class _Loader(SourceFileLoader):
    """Runs a module's code from the bundle; to the module it lies where its source does."""

    def __init__(self, name: str, path: str, code: memoryview):
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return marshal.loads(self._code)

    def release(self) -> None:
        """Lets go of the bundle: somebody may have kept the loader."""
        self._code.release()


class ModuleBundle:
    """Finds the modules of a bundle, ahead of all other finders."""

    def __init__(self, modules: dict[str, tuple[str, bool, int, int]], content: bytes | mmap.mmap = b""):
        self._modules = modules
        self._content = memoryview(content)
        self._loaders: list[_Loader] = []

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The module, if it is in the bundle."""
        if name not in self._modules:
            return None
        source, is_package, begin, end = self._modules[name]
        # No copy, and one module at a time: what stays between modules would keep the heap from being used again.
        loader = _Loader(name, source, self._content[begin:end])
        self._loaders.append(loader)
        folders = [os.path.dirname(source)] if is_package else None
        return importlib.util.spec_from_file_location(name, source, loader=loader, submodule_search_locations=folders)

    def close(self) -> None:
        """Leaves no trace: modules look as if they had come from their sources, and later imports do."""
        sys.meta_path.remove(self)
        for loader in self._loaders:
            spec = getattr(sys.modules.get(loader.name), "__spec__", None)
            if spec is not None and spec.loader is loader:
                sys.modules[loader.name].__loader__ = spec.loader = SourceFileLoader(loader.name, loader.path)
            loader.release()
        self._content.release()
        self._modules, self._content, self._loaders = {}, memoryview(b""), []


def open_bundle(path: str = _PATH) -> ModuleBundle:
    """Imports from the bundle at `path` until it is closed, and removes the file. One that cannot be used is as none."""
    bundle = ModuleBundle({})
    with contextlib.suppress(OSError, EOFError, ValueError, TypeError), open(path, "rb") as file:
        found = _read(file)
        # One that stays would hide from a later zygote what was installed since.
        os.unlink(path)
        bundle = found
    sys.meta_path.insert(0, bundle)
    return bundle


def _read(file: BinaryIO) -> ModuleBundle:
    magic, modules = marshal.load(file)
    if magic != importlib.util.MAGIC_NUMBER:
        raise ValueError("written by another version of Python")
    begin = file.tell()
    places = {name: (*how, begin + at, begin + end) for name, (*how, at, end) in modules.items()}
    return ModuleBundle(places, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def write_bundle(path: str = _PATH) -> None:
    """Writes all modules that were imported from sources so far to `path`."""
    modules, body = {}, bytearray()
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        if spec is None or spec.name != name or type(spec.loader) is not SourceFileLoader:
            continue
        begin = len(body)
        body += marshal.dumps(spec.loader.get_code(name))
        modules[name] = (spec.origin, spec.submodule_search_locations is not None, begin, len(body))
    with open(path, "wb") as file:
        marshal.dump((importlib.util.MAGIC_NUMBER, modules), file)
        file.write(body)
