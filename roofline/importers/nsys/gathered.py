"""Rows of a query -> columns, a batch at a time: what repeats becomes the number of a value.

Of a kernel that runs a million times name, device, stream and launch configuration are held once;
of each of its rows the start, the duration, the correlation id and four small numbers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from roofline.importers.limits import LATEST_NS, LONGEST_NS
from roofline.importers.rows import same

if TYPE_CHECKING:
    import pyarrow as pa

Value = tuple[Any, ...]
_NARROW = 1 << 31
_LARGEST = 1 << 62
_NUMBER = r"^-?\d{1,18}$"  # written as text


@dataclass(slots=True)
class Distinct:
    """Different combinations of values as numbers, in order of first appearance."""

    of: dict[Value, int] = field(default_factory=dict)

    def numbers(self, values: Iterable[Value]) -> "pa.Array":
        """The number of each of `values` [int32]."""
        import pyarrow as pa

        return pa.array([self.of.setdefault(v, len(self.of)) for v in values], pa.int32())

    def values(self) -> list[Value]:
        """Every combination, at the place its number says."""
        return list(self.of)


class Gathered:
    """The rows of one query, with start, stop and correlation among its columns."""

    def __init__(self, numbered: Mapping[str, Sequence[str]]):
        """`numbered` are groups of columns of which each combination becomes one number."""
        self.distinct = {group: Distinct() for group in numbered}
        self.unread = 0  # cells that hold something else than the number that belongs there
        self._numbered = numbered
        self._parts: dict[str, list[pa.Array]] = {
            name: [] for name in ("start", "duration", "correlation", *numbered)
        }

    def add(self, rows: "pa.RecordBatch") -> None:
        """Take in one batch; columns that it has not are null, and so is what is no number."""
        import pyarrow as pa

        start, stop = (_moments(self._whole(rows, name)) for name in ("start", "stop"))
        self._parts["start"].append(_small(start))
        self._parts["duration"].append(_lasted(start, stop))
        self._parts["correlation"].append(_narrow(self._whole(rows, "correlation")))
        for group, columns in self._numbered.items():
            number, found = _numbered([self._plain(rows, name) for name in columns])
            numbers = self.distinct[group].numbers(found)
            if number is None:  # the same in all rows
                self._parts[group] += same(numbers[0].as_py(), pa.int32(), rows.num_rows).chunks
            else:
                self._parts[group].append(numbers.take(number))

    def _plain(self, rows: "pa.RecordBatch", name: str) -> "pa.Array":
        """A column as text where names are spelled out, else as whole numbers."""
        import pyarrow as pa

        spelled = (
            name == "name" and name in rows.schema.names and pa.types.is_string(rows[name].type)
        )
        return rows[name] if spelled else self._whole(rows, name)

    def _whole(self, rows: "pa.RecordBatch", name: str) -> "pa.Array":
        import pyarrow as pa

        if name not in rows.schema.names:
            return pa.nulls(rows.num_rows, pa.int64())
        column = rows[name]
        if pa.types.is_int64(column.type):
            return column
        numbers = _numbers_in(column)
        self.unread += numbers.null_count - column.null_count
        return numbers

    def table(self) -> "pa.Table":
        """All rows, which are given up: ns, ids of one or the other width, numbers as int32."""
        import pyarrow as pa

        parts, self._parts = self._parts, {}
        narrow = all(part.type == pa.int32() for part in parts["correlation"])
        kinds = dict.fromkeys(parts, pa.int32()) | dict.fromkeys(("start", "duration"), pa.int64())
        if not narrow:
            kinds["correlation"] = pa.int64()
            parts["correlation"] = [part.cast(pa.int64()) for part in parts["correlation"]]
        return pa.table({name: pa.chunked_array(parts[name], kinds[name]) for name in parts})


def together(
    parts: Sequence[tuple[Value, Gathered]], numbered: Iterable[str], constant: str
) -> tuple["pa.Table", dict[str, list[Value]]]:
    """Rows of several queries, and the values that their numbers now stand for.

    What is given with each part stands before the values of its group `constant`.
    """
    import pyarrow as pa

    distinct = {group: Distinct() for group in numbered}
    tables = [Gathered(dict.fromkeys(distinct, ())).table()]  # without rows: the types of columns
    for before, part in parts:
        rows = part.table()
        for group, known in distinct.items():
            own: list[Value] = part.distinct[group].values()
            of = known.numbers((*before, *each) if group == constant else each for each in own)
            if of.to_pylist() != [*range(len(own))]:
                at = rows.column_names.index(group)
                rows = rows.set_column(at, group, of.take(rows[group]))
        tables.append(rows)
    whole = pa.concat_tables(tables, promote_options="permissive")
    return whole, {group: each.values() for group, each in distinct.items()}


def _numbered(columns: Sequence["pa.Array"]) -> tuple["pa.Array | None", list[Value]]:
    """For each row the number of its combination of values, and the combinations by number.

    Of one alone there are no numbers.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    found: list[Value] = [()]
    number: Any = None
    for column in columns:
        least, most = pc.min_max(column).values()
        if column.null_count in (0, len(column)) and least == most:
            found = [(*each, least.as_py()) for each in found]  # the same in all rows
            continue
        each = column.dictionary_encode(null_encoding="encode")
        values = each.dictionary.to_pylist()
        if number is None:
            number, found = each.indices, [(*found[0], value) for value in values]
            continue
        # One column after the other, so that no number is larger than rows times values.
        both = pc.add(pc.multiply(number.cast(pa.int64()), len(values)), each.indices)
        together = both.dictionary_encode()
        pairs = (divmod(code, len(values)) for code in together.dictionary.to_pylist())
        found = [(*found[before], values[at]) for before, at in pairs]
        number = together.indices
    return number, found


def _numbers_in(column: "pa.Array") -> "pa.Array":
    """Whole numbers, also where they are written as text; null for anything else."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_null(kind):
        return column.cast(pa.int64())
    if pa.types.is_floating(kind):
        usable = pc.less(pc.abs(column), float(_LARGEST))
    else:
        usable = pc.match_substring_regex(column, _NUMBER)
    column = pc.if_else(usable, column, pa.scalar(None, kind))
    if pa.types.is_binary(kind):
        column = column.cast(pa.string())
    return column.cast(pa.int64(), safe=False)


def _small(column: "pa.Array") -> "pa.Array":
    """A copy: what the database's driver gives takes more memory than it has rows."""
    import pyarrow.compute as pc

    return pc.add(column, 0)


def _narrow(column: "pa.Array") -> "pa.Array":
    """In half of the memory where that holds all values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    least, most = (each.as_py() or 0 for each in pc.min_max(column).values())
    return column.cast(pa.int32()) if least >= -_NARROW and most < _NARROW else _small(column)


def _moments(times: "pa.Array") -> "pa.Array":
    """Points in time; null for what cannot be."""
    import pyarrow as pa
    import pyarrow.compute as pc

    least, most = (each.as_py() or 0 for each in pc.min_max(times).values())
    if least > -LATEST_NS and most < LATEST_NS:
        return times
    can_be = pc.and_(pc.greater(times, -LATEST_NS), pc.less(times, LATEST_NS))
    return pc.if_else(can_be, times, pa.scalar(None, pa.int64()))


def _lasted(start: "pa.Array", stop: "pa.Array") -> "pa.Array":
    """Durations; null for one below zero and for what cannot be."""
    import pyarrow as pa
    import pyarrow.compute as pc

    duration = pc.subtract(stop, start)
    least, most = (each.as_py() or 0 for each in pc.min_max(duration).values())
    if least >= 0 and most < LONGEST_NS:
        return duration
    can_be = pc.and_(pc.greater_equal(duration, 0), pc.less(duration, LONGEST_NS))
    return pc.if_else(can_be, duration, pa.scalar(None, pa.int64()))
