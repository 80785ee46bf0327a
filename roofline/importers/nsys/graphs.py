"""Whole graphs: launches of captured graphs of which the recording has no kernels.

``--cuda-graph-trace=graph``, which costs less while recording, keeps of each launch of a graph when
its first node began and its last one ended, and nothing of the nodes.
Spec: CUPTI, ``CUpti_ActivityGraphTrace2``; its times are 0 where it could not take them, and its
device is the largest int where the graph begins on the host.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from roofline.importers.nsys.launched import apart
from roofline.importers.nsys.others import seconds
from roofline.importers.nsys.schema import Table
from roofline.runfile import Gap
from roofline.units import number_of

if TYPE_CHECKING:
    import pyarrow as pa

    from roofline.importers.nsys.read import Database, Values

GRAPH = "graph"  # what an activity is
WHOLE = "not accounted for: a whole graph, whose kernels are not in the recording"
_ON_HOST = 2**31 - 1


def query(table: Table, columns: Mapping[str, str]) -> str:
    """The query of whole graphs, with what is not known as null."""
    absent = {"start": 0, "device": _ON_HOST}
    known = {
        name: f"NULLIF({of}, {absent[name]})" if name in absent else of
        for name, of in columns.items()
    }
    return table.select(**known, name=table.sql("graph_id"))


def called(number: object) -> str:
    """What a graph is called: the profiler gives it a number."""
    return "CUDA graph" if number is None else f"CUDA graph {number}"


def whole(rows: "pa.Table", values: "Values") -> "pa.ChunkedArray | None":
    """Which activities are whole graphs; None where none is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    keys = [at for at, (what, *_) in enumerate(values["key"]) if what == GRAPH]
    return pc.is_in(rows["key"], value_set=pa.array(keys, pa.int32())) if keys else None


def once(rows: "pa.Table", database: "Database") -> "pa.Table":
    """Without graphs whose kernels stand beside them: of the same process and correlation id."""
    import pyarrow as pa
    import pyarrow.compute as pc

    graphs = whole(rows, database.values)
    if graphs is None:
        return rows
    # Ids of graphs are few: only what has one of them is looked at further.
    ids = rows["correlation"].filter(graphs).drop_null().unique()
    beside = rows.filter(pc.and_not(pc.is_in(rows["correlation"], value_set=ids), graphs))
    of = [table.select(["correlation", "process"]) for table in (rows.filter(graphs), beside)]
    if len(database.processes) < 2:
        known, others = (table["correlation"] for table in of)
    else:
        known, others = apart(*of)
    twice = pc.is_in(known, value_set=others.drop_null().unique(), skip_nulls=True)
    if not pc.any(twice).as_py():
        return rows
    at = pc.indices_nonzero(graphs).filter(twice.combine_chunks())
    numbers = pa.array(range(rows.num_rows), pa.uint64())
    return rows.filter(pc.invert(pc.is_in(numbers, value_set=at)))


def gaps(rows: "pa.Table", graphs: "pa.ChunkedArray | None") -> list[Gap]:
    """What ran as whole graphs, and how to record their kernels."""
    import pyarrow.compute as pc

    if graphs is None or not pc.any(graphs).as_py():
        return []
    of = rows["duration"].filter(graphs)
    spent, total = seconds(pc.sum(of).as_py()), seconds(pc.sum(rows["duration"]).as_py())
    share = f", {spent / total:.0%} of device time" if spent and total else ""
    return [
        Gap(
            name="graph launches",
            what=(
                f"{number_of(len(of), 'graph launch')} recorded as a whole{share}, from the first "
                "node's begin to the last one's end; the kernels are not in the recording: "
                "`nsys profile --cuda-graph-trace=node` records them"
            ),
            seconds=spent,
            count=len(of),
        )
    ]
