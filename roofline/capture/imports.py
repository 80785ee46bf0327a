"""Tells when a module has been imported, so that nothing heavy is imported only to be watched."""

import importlib.abc
import importlib.util
import sys
import types
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from typing import Any


class WhenImported(importlib.abc.MetaPathFinder):
    """Calls `then` with module `name` right after it was executed; now, if it already was.

    Other modules see it only after that, and get whatever `then` put into it.
    """

    def __init__(self, name: str, then: Callable[[types.ModuleType], None]):
        self._name = name
        self._then = then

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to watch."""
        module = sys.modules.get(self._name)
        if module is None:
            sys.meta_path.insert(0, self)
        else:
            self._then(module)

    def stop(self) -> None:
        """Watch no longer."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders give, its loader made to tell us when it is done."""
        if fullname != self._name:
            return None
        self.stop()
        spec = importlib.util.find_spec(fullname)
        loader: Any = spec.loader if spec is not None else None
        if loader is None:
            return spec
        execute, then = loader.exec_module, self._then

        def exec_module(module: types.ModuleType) -> None:
            del loader.exec_module  # what we put over the loader's own method
            execute(module)
            then(module)

        loader.exec_module = exec_module
        return spec
