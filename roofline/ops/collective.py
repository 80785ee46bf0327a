"""Collectives: bytes over the link of one rank, one way, by the ring algorithm; none over DRAM.

Which link (NVLink or the network) is not in the call: CUDA calls are counted on `nvlink`, CPU calls
on `network`, and the ledger says so.  A group that spans hosts crosses the network too.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from roofline.call import Argument, Call, Tensor
from roofline.device import NETWORK, NVLINK
from roofline.ops import arguments
from roofline.ops.rule import Rule, Unaccountable
from roofline.work import Entry, Exactness, Ledger, algorithmic

RING = "bytes one rank sends over its link (it receives as many), by the ring algorithm"
LINK = "CUDA tensors are taken to cross nvlink, CPU tensors the network"
_GROUP = re.compile(r"group of ([1-9]\d*)")  # as the recorder keeps a group of processes
SUMS = "the additions of a reduction are left out"


def shared(places: Sequence[int], low: float, high: float, call: Call) -> Ledger:
    """broadcast, reduce, send, ... of S bytes: low * S to high * S are sent.

    broadcast    S, or nothing on the last rank of the ring
    send, recv   S
    """
    size = sum(_nbytes(_tensors(call, at)) for at in places)
    return _sent(call, round(low * size), round(high * size))


def spread(place: int, times: int, call: Call) -> Ledger:
    """all_reduce, all_to_all among n ranks, of S bytes: all but one n-th of them, once or twice.

    all_reduce   2 (n-1)/n * S: nothing for one rank, S for two, nearly 2 S for many
    all_to_all   (n-1)/n * S

    Where nobody recorded how many ranks the group has, anything between is possible.
    """
    size = times * _nbytes(_tensors(call, place))
    ranks = next((int(m[1]) for a in call.args if (m := _GROUP.fullmatch(str(a)))), None)
    if ranks is None:
        return _sent(call, 0, size)
    sent = size * (ranks - 1) // ranks
    return _sent(call, sent, sent)


def grown(small_at: int, large_at: int, call: Call) -> Ledger:
    """all_gather, reduce_scatter, gather, scatter between a part and the whole: whole less part."""
    small, large = _nbytes(_tensors(call, small_at)), _nbytes(_tensors(call, large_at))
    if large < small:
        raise Unaccountable(
            f"{call.op}: the whole of {large} B is smaller than a part of {small} B"
        )
    return _sent(call, large - small, large - small)


def functional(gathers: bool, call: Call) -> Ledger:
    """_c10d_functional::all_gather_into_tensor(x, n, ...), reduce_scatter_tensor(x, op, n, ...)."""
    size = _nbytes(_tensors(call, 0))
    ranks = arguments.integer(call, 1 if gathers else 2)
    if ranks < 1:
        raise Unaccountable(f"{call.op}: a group of {ranks} ranks")
    sent = size * (ranks - 1) if gathers else size * (ranks - 1) // ranks
    return _sent(call, sent, sent)


def barrier(call: Call) -> Ledger:
    """barrier, wait_tensor: no bytes; the time in it is waiting."""
    return replace(algorithmic(), footprint=0)


def _sent(call: Call, low: int, high: int) -> Ledger:
    link = NVLINK if call.device == "cuda" else NETWORK
    exact = low == high
    entry = Entry(link, high, "sent by one rank", "write",
                  Exactness.EXACT if exact else Exactness.BOUNDED,
                  None if exact else low, None if exact else high)  # fmt: skip
    return replace(algorithmic(entry, conventions=(RING, LINK, SUMS)), footprint=0)


def _tensors(call: Call, index: int) -> list[Tensor]:
    found = list(_flat(call.arg(index)))
    if not found:
        raise Unaccountable(f"{call.op}: argument {index} should hold tensors")
    return [arguments.tensor(Call(call.op, (t,)), 0) for t in found]


def _flat(argument: Argument) -> list[Tensor]:
    if isinstance(argument, Tensor):
        return [argument]
    members = argument if isinstance(argument, tuple) else ()
    return [t for member in members for t in _flat(member)]


def _nbytes(tensors: list[Tensor]) -> int:
    return sum(t.nbytes for t in tensors)


_BOUNDS = (
    ("c10d::broadcast_", (0,), 0, 1), ("c10d::reduce_", (0,), 0, 1),
    ("c10d::send", (0,), 1, 1), ("c10d::recv_", (0,), 1, 1), ("c10d::recv_any_source_", (0,), 1, 1),
    ("_c10d_functional::broadcast", (0,), 0, 1), ("_c10d_functional::broadcast_", (0,), 0, 1),
    ("_c10d_functional::isend", (0,), 1, 1), ("_c10d_functional::irecv", (0,), 1, 1),
)  # fmt: skip
_SPREAD = (
    ("c10d::allreduce_", 0, 2), ("c10d::allreduce_coalesced_", 0, 2),
    ("_c10d_functional::all_reduce", 0, 2), ("_c10d_functional::all_reduce_", 0, 2),
    ("_c10d_functional::all_reduce_coalesced", 0, 2),
    ("_c10d_functional::all_reduce_coalesced_", 0, 2),
    ("c10d::alltoall_", 1, 1), ("c10d::alltoall_base_", 1, 1),
    ("_c10d_functional::all_to_all_single", 0, 1),
)  # fmt: skip
_GROWN = (
    ("c10d::allgather_", 1, 0), ("c10d::_allgather_base_", 1, 0),
    ("c10d::allgather_into_tensor_coalesced_", 1, 0), ("c10d::allgather_coalesced_", 1, 0),
    ("c10d::reduce_scatter_", 0, 1), ("c10d::_reduce_scatter_base_", 0, 1),
    ("c10d::reduce_scatter_tensor_coalesced_", 0, 1),
)  # fmt: skip
_WAITS = (
    "c10d::barrier", "c10d::monitored_barrier_", "c10d::check_for_nan",
    "_c10d_functional::wait_tensor", "_c10d_functional::_wrap_tensor_autograd",
)  # fmt: skip

RULES = (
    *(Rule(name, partial(spread, place, times)) for name, place, times in _SPREAD),
    *(Rule(name, partial(shared, places, low, high)) for name, places, low, high in _BOUNDS),
    *(Rule(name, partial(grown, small, large)) for name, small, large in _GROWN),
    *(Rule(f"_c10d_functional::{name}", partial(functional, gathers)) for name, gathers in (
        ("all_gather_into_tensor", True), ("all_gather_into_tensor_out", True),
        ("all_gather_into_tensor_coalesced", True), ("reduce_scatter_tensor", False),
        ("reduce_scatter_tensor_out", False), ("reduce_scatter_tensor_coalesced", False))),
    *(Rule(name, barrier) for name in _WAITS),
    Rule("c10d::gather_", partial(shared, (1,), 0, 1)),
    Rule("c10d::scatter_", partial(shared, (0,), 0, 1)),
)  # fmt: skip
