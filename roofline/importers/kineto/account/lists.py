"""The element type of tensors inside lists, which a trace does not record.

It is taken from the other tensors of that shape in the trace, where they all agree.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from roofline.importers.kineto.account.arguments import DTYPES

Shape = tuple[int, ...]


def types_by_shape(calls: Iterable[tuple[Any, ...]]) -> Mapping[Shape, str]:
    """Shape -> type, of shapes that come with one type only; `calls` as in Columns.calls."""
    seen: dict[Shape, set[str]] = {}
    for _, dims, types, *_ in calls:
        if not dims or not types:
            continue
        try:
            shapes, kinds = msgspec.json.decode(dims), msgspec.json.decode(types)
        except (msgspec.DecodeError, RecursionError):
            continue
        if not isinstance(shapes, list) or not isinstance(kinds, list):
            continue
        for shape, kind in zip(shapes, kinds, strict=False):
            if (
                isinstance(kind, str)
                and kind in DTYPES
                and isinstance(shape, list)
                and shape
                and all(type(size) is int for size in shape)
            ):
                seen.setdefault(tuple(shape), set()).add(DTYPES[kind])
    return {shape: next(iter(kinds)) for shape, kinds in seen.items() if len(kinds) == 1}
