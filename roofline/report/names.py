"""What the lines of a table are called, within the columns that there are."""

from collections.abc import Sequence
from typing import Any

from roofline.called import fitted, told_apart

_KERNELS = frozenset({"kernel", "memcpy"})


def line_names(items: Sequence[dict[str, Any]], width: int) -> list[str]:
    """A name of at most `width` characters for each line; lines of different names differ."""
    kernels = told_apart((i["name"] for i in items if i.get("kind") in _KERNELS), width)
    plain = [kernels.get(i["name"]) or i["name"].removeprefix("aten::") for i in items]
    return fitted(plain, width)
