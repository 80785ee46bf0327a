"""What a compiled graph needs, counted from the graph before it is compiled.

Arithmetic is that of its operators, by the rules that count them when they run one by one; bytes
are those that cannot be avoided: every input read once, every output written once.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import torch

from roofline.call import Call, Tensor
from roofline.capture.calls.operator import describe
from roofline.capture.calls.signature import Describer, Opaque, dtype, tensors
from roofline.capture.calls.storages import Storages
from roofline.device import DRAM, Resource
from roofline.units import number_of
from roofline.work import Entry, Exactness, Ledger, algorithmic, unknown

CONVENTION = (
    "a compiled region moves at least every input of its graph once and every output once; "
    "what its operators hand to each other is not counted, whether or not it stayed on the chip"
)
# These read as many rows of their first argument as they return, not all of it.
_GATHERS = frozenset({"aten::embedding", "aten::index", "aten::index_select", "aten::gather"})
# Inductor's own names for operators of ATen; arguments are the same as far as they are looked at.
_SAME_AS = {"prims::convert_element_type": "aten::_to_copy"}
_NO_WORK = frozenset({"aten::sym_size", "aten::sym_stride", "aten::sym_numel"})

Account = Callable[[Call], Ledger]


class Graph:
    """A graph as it was before a backend took it apart."""

    def __init__(self, module: Any):
        self._nodes = torch.fx.Graph()
        self._output = self._nodes.graph_copy(module.graph, {})
        attributes = {n.target for n in module.graph.nodes if n.op == "get_attr"}
        self._constants = {name: attrgetter(name)(module) for name in attributes}
        self._inputs = [n for n in self._nodes.nodes if n.op == "placeholder"]

    def symbols(self, arguments: Sequence[Any]) -> tuple[int, ...]:
        """The values that `arguments` give the symbols in the sizes; empty when there are none."""
        return tuple(_values(self._inputs, arguments).values())

    def ledger(self, account: Account, arguments: Sequence[Any]) -> Ledger:
        """What one call with `arguments` needs; they give the symbols in the sizes their values."""
        size = _sizes(_values(self._inputs, arguments))
        storages = Storages()
        calls = dict(self._calls(storages, size))
        storages.close()
        ledgers = [account(c) if isinstance(c, Call) else unknown(c) for c in calls.values()]
        names = Counter(c.op for c in calls.values() if isinstance(c, Call))
        read, written = self._read(size), self._written(size)
        whole = algorithmic(
            *_merged(ledgers, names),
            Entry(DRAM, sum(read), f"read {len(read)} graph inputs once", "read"),
            Entry(DRAM, sum(written), f"write {len(written)} graph outputs once", "write"),
            conventions=(CONVENTION,),
        )
        return replace(
            whole,
            unaccounted=tuple(dict.fromkeys(n for ledger in ledgers for n in ledger.unaccounted)),
            footprint=sum(read) + sum(written),
        )

    def _calls(
        self, storages: Storages, size: Callable[[Any], int]
    ) -> Iterator[tuple[Any, Call | str]]:
        for node in self._nodes.nodes:
            if node.op != "call_function" or not hasattr(node.target, "name"):
                continue  # arithmetic on sizes, picking one of several results
            operator = describe(node.target)
            name = _SAME_AS.get(operator.name, operator.name)
            if operator.ignored or name in _NO_WORK:
                continue
            if operator.opaque:
                yield node, operator.name
                continue
            args = torch.fx.map_arg(node.args, self._value)
            kwargs = torch.fx.map_arg(node.kwargs, self._value)
            try:
                describer = Describer(operator, args, kwargs, storages, size)
                call = describer.call(tensors([node.meta.get("val")]))
            except Opaque:
                yield node, operator.name
            else:
                yield node, replace(call, op=name)

    def _value(self, node: Any) -> Any:
        return node.meta["val"] if "val" in node.meta else self._constants.get(node.target)

    def _read(self, size: Callable[[Any], int]) -> list[int]:
        sources = [n for n in self._nodes.nodes if n.op in ("placeholder", "get_attr")]
        read = [_bytes_read(node, self._value(node), size) for node in sources]
        return [amount for amount in read if amount]

    def _written(self, size: Callable[[Any], int]) -> list[int]:
        inputs = {id(s) for node in self._inputs for s in _storages(node.meta.get("val"))}
        written = []
        for node in dict.fromkeys(_nodes_in(self._output)):
            value = node.meta.get("val")
            new = node.op == "call_function" and not inputs & {id(s) for s in _storages(value)}
            written += [_nbytes(t, size) for t in tensors([value])] if new else []
        for node in self._nodes.nodes:
            # Changes of inputs stand at the end of a graph, as copies into them.
            if node.target is torch.ops.aten.copy_.default:
                written.append(_nbytes(node.args[0].meta["val"], size))
        return written


def _values(inputs: Sequence[Any], arguments: Sequence[Any]) -> dict[Any, int]:
    """Symbol -> value, from the graph's inputs and what they are called with."""
    values: dict[Any, int] = {}
    for node, given in zip(inputs, arguments, strict=False):
        stated = node.meta.get("val")
        if isinstance(stated, torch.Tensor) and isinstance(given, torch.Tensor):
            pairs = list(zip(stated.shape, given.shape, strict=True))
        else:
            pairs = [(stated, given)]
        for symbol, value in pairs:
            if isinstance(symbol, torch.SymInt) and isinstance(value, int):
                values[symbol.node.expr] = value
    return values


def _sizes(values: Mapping[Any, int]) -> Callable[[Any], int]:
    """A function that gives every size its value."""

    def size(wanted: Any) -> int:
        if isinstance(wanted, torch.SymInt):
            return int(wanted.node.expr.xreplace(values))
        return int(wanted)

    return size


def _bytes_read(node: Any, value: Any, size: Callable[[Any], int]) -> int:
    """Bytes of `node` that its users read: of a table that is only looked into, the rows hit."""
    if not isinstance(value, torch.Tensor) or not node.users:
        return 0
    whole = _nbytes(value, size)
    part = 0
    for user in node.users:
        name = _name(user)
        if name in _GATHERS and user.args[0] is node:
            part += sum(_nbytes(t, size) for t in tensors([user.meta.get("val")]))
        elif name and describe(user.target).is_view:
            part += _bytes_read(user, user.meta.get("val"), size)
        elif user.target is torch.ops.aten.copy_.default and user.args[0] is node:
            continue  # written, not read
        elif user.op != "output":
            return whole
    return min(whole, part)


def _name(node: Any) -> str:
    overload = isinstance(node.target, torch._ops.OpOverload)
    return str(node.target._schema.name) if overload else ""


def _nbytes(tensor: Any, size: Callable[[Any], int]) -> int:
    return Tensor(
        tuple(map(size, tensor.shape)),
        dtype(tensor.dtype),
        tuple(map(size, tensor.stride())),
    ).nbytes


def _storages(value: Any) -> list[Any]:
    return [t.untyped_storage() for t in tensors([value])]


def _nodes_in(output: Any) -> list[Any]:
    found: list[Any] = []
    torch.fx.map_arg(output, found.append)
    return found


def _merged(ledgers: Iterable[Ledger], names: Mapping[str, int]) -> Iterator[Entry]:
    """Everything but bytes, one line a resource."""
    groups: dict[Resource, list[Entry]] = {}
    for ledger in ledgers:
        for entry in ledger.entries:
            if not entry.resource.is_boundary:
                groups.setdefault(entry.resource, []).append(entry)
    why = f"arithmetic of the graph's {number_of(sum(names.values()), 'operator')}"
    for resource, entries in groups.items():
        worst = max((e.exactness for e in entries), key=list(Exactness).index)
        ends = worst is Exactness.BOUNDED
        yield Entry(
            resource,
            sum(e.amount for e in entries),
            why,
            exactness=worst,
            low=sum(e.amount if e.low is None else e.low for e in entries) if ends else None,
            high=sum(e.amount if e.high is None else e.high for e in entries) if ends else None,
        )
