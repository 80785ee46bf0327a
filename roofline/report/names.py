"""What the lines of a table are called, within the columns that there are."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from roofline.called import fitted, numbered, told_apart

_KERNELS = frozenset({"kernel", "memcpy"})


def line_names(items: Sequence[dict[str, Any]], width: int) -> list[str]:
    """A name of at most `width` characters for each line; lines of different names differ.

    Of a table that shows some lines only, `items` are all: what is told apart then stays so.
    """
    kernels = told_apart((i["name"] for i in items if i.get("kind") in _KERNELS), width)
    short = {
        name: kernels.get(name) or name.removeprefix("aten::")
        for name in dict.fromkeys(i["name"] for i in items)
    }
    alike = Counter(short.values())
    called = numbered({name: its if alike[its] == 1 else name for name, its in short.items()})
    return fitted([called[i["name"]] for i in items], width)
