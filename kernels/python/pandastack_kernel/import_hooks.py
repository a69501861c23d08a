"""Calls a function when a module is imported for the first time."""

import importlib.abc
import importlib.util
import sys


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self):
        self.callbacks = {}

    def find_spec(self, name, path=None, target=None):
        if name not in self.callbacks:
            return None
        callback = self.callbacks.pop(name)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, callback)
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, loader, callback):
        self._loader = loader
        self._callback = callback

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        self._callback(module)


_finder = _Finder()


def when_imported(name: str, callback) -> None:
    """Calls `callback(module)` right after module `name` has run, now if it has been imported already."""
    if name in sys.modules:
        callback(sys.modules[name])
        return
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    _finder.callbacks[name] = callback
