"""Whole graphs: launches of captured graphs of which the recording has no kernels.

``--cuda-graph-trace=graph``, which costs less while recording, keeps of each launch of a graph when
its first node began and its last one ended, and nothing of the nodes.
Spec: CUPTI, ``CUpti_ActivityGraphTrace2``; its times are 0 where it could not take them, and its
device is the largest int where the graph begins on the host.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from roofline.importers.nsys.schema import Table
from roofline.runfile import Gap
from roofline.units import number_of

if TYPE_CHECKING:
    import pyarrow as pa

    from roofline.importers.nsys.read import Values

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


def unknown(
    rows: "pa.Table", launch: "pa.ChunkedArray", graphs: "pa.ChunkedArray"
) -> tuple["pa.Table", "pa.ChunkedArray", "pa.ChunkedArray"]:
    """Without graphs whose kernels stand beside them, started by the same launch."""
    import pyarrow.compute as pc

    by_kernels = launch.filter(pc.invert(graphs)).drop_null().unique()
    twice = pc.and_(graphs, pc.is_in(launch, value_set=by_kernels))
    if not pc.any(twice).as_py():
        return rows, launch, graphs
    once = pc.invert(twice)
    return rows.filter(once), launch.filter(once), graphs.filter(once)


def gaps(rows: "pa.Table", graphs: "pa.ChunkedArray | None") -> list[Gap]:
    """What ran as whole graphs, and how to record their kernels."""
    import pyarrow.compute as pc

    if graphs is None or not pc.any(graphs).as_py():
        return []
    of = rows["duration"].filter(graphs)
    ns, total = pc.sum(of).as_py() or 0, pc.sum(rows["duration"]).as_py() or 0
    share = f", {ns / total:.0%} of device time" if total else ""
    return [
        Gap(
            name="graph launches",
            what=(
                f"{number_of(len(of), 'graph launch')} recorded as a whole{share}, from the first "
                "node's begin to the last one's end; the kernels are not in the recording: "
                "`nsys profile --cuda-graph-trace=node` records them"
            ),
            seconds=ns / 1e9,
            count=len(of),
        )
    ]
