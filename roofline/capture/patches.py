"""Changes to modules of other people, made when those are imported and undone all together."""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from roofline.capture.imports import WhenImported


class Patches:
    """What is done to each module once it is there; `replace` notes how to put things back."""

    def __init__(self, when: Mapping[str, Callable[[ModuleType], None]]) -> None:
        self._watchers = [WhenImported(name, then) for name, then in when.items()]
        self._undo: list[Callable[[], None]] = []

    def install(self) -> None:
        """Begin to watch; costs nothing until one of the modules is imported."""
        for watcher in self._watchers:
            watcher.start()

    def remove(self) -> None:
        """Put things back as they were, the last change first."""
        for watcher in self._watchers:
            watcher.stop()
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()

    def replace(self, owner: Any, name: str, new: Any) -> None:
        """Set an attribute until `remove`."""
        old = getattr(owner, name)
        setattr(owner, name, new)
        self._undo.append(lambda: setattr(owner, name, old))
