"""The loops of kernels.c, built for LLVM.

Explicit vectors, and values instead of variables, so that LLVM's code generator alone makes good
code of them: no optimiser runs that could merge passes or call a library's memcpy.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from roofline.bench.cpu.kernels import SCALE

UNROLL, STREAMS = 8, 4
_FACTOR, _TERM = -0.99999, 0.5  # x = x * f + t alternates and stays normal
_ADDEND, _MASK = 0x2545F491, 0x1D872B41
_I64, _F32, _F64, _PTR = ir.IntType(64), ir.FloatType(), ir.DoubleType(), ir.PointerType()

Values = Sequence[Any]
Body = Callable[[Any, Values, Any, Any, Values], Values]  # builder, arrays, at, apart, sums


def text(width: int, chains: int, x86: bool) -> str:
    """A module with every kernel for vectors of `width` bytes, as LLVM's text."""
    module, lanes = ir.Module("roofline"), width // 4
    v = ir.VectorType(_F32, lanes)
    fence = "llvm.x86.sse.sfence" if x86 else ""
    _stream(module, "read_plain", v, _sum(v, 1), sums=UNROLL)
    _stream(module, "read_four_streams", v, _sum(v, STREAMS), sums=UNROLL, streams=STREAMS)
    _stream(module, "update_plain", v, _write(v, _update))
    _stream(module, "write_plain", v, _write(v, _same))
    _stream(module, "write_bypass", v, _write(v, _same, past=True), fence=fence)
    _stream(module, "copy_plain", v, _write(v, _copy))
    _stream(module, "copy_bypass", v, _write(v, _copy, past=True), fence=fence)
    _stream(module, "triad_plain", v, _write(v, _triad))
    _stream(module, "triad_bypass", v, _write(v, _triad, past=True), fence=fence)
    _chain(module, "fma_fp32", v, chains, lambda b, x: _fma(b, x, _FACTOR, _TERM))
    _chain(
        module, "fma_fp64", ir.VectorType(_F64, lanes // 2), chains,
        lambda b, x: _fma(b, x, _FACTOR, _TERM),
    )  # fmt: skip
    _chain(module, "add_xor_int32", ir.VectorType(ir.IntType(32), lanes), chains, _add_xor)
    # LLVM splits wide vectors for the sake of clocks of older CPUs unless every function says so;
    # the builder does not know these attributes.
    bits = 8 * width
    said = f'attributes #0 = {{ "prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}" }}'
    return re.sub(r"^(define .*\))", r"\1 #0", str(module), flags=re.MULTILINE) + f"\n{said}\n"


def _builder(module: Any, name: str, result: Any, arguments: Values) -> tuple[Any, Any]:
    function = ir.Function(module, ir.FunctionType(result, arguments), name)
    return function, ir.IRBuilder(function.append_basic_block())


def _loop(b: Any, count: Any, carried: Values, body: Callable[[Any, Values], Values]) -> Values:
    """Run body(i, values) -> values for 0 <= i < count, at least once; the last values."""
    before, block = b.block, b.append_basic_block()
    b.branch(block)
    b.position_at_end(block)
    phis = [b.phi(value.type) for value in (_I64(0), *carried)]
    after = body(phis[0], phis[1:])
    following = b.add(phis[0], _I64(1))
    values = zip(phis, (_I64(0), *carried), (following, *after), strict=True)
    for phi, first, later in values:
        phi.add_incoming(first, before)
        phi.add_incoming(later, b.block)
    done = b.append_basic_block()
    b.cbranch(b.icmp_signed("<", following, count), block, done)
    b.position_at_end(done)
    return after


def _stream(
    module: Any, name: str, v: Any, body: Body, *, sums: int = 0, streams: int = 1, fence: str = ""
) -> None:
    """float NAME(a, b, c, elements, passes); `body` does UNROLL vectors of each stream."""
    function, b = _builder(module, name, _F32, [_PTR] * 3 + [_I64] * 2)
    *arrays, elements, passes = function.args
    step, apart = v.count * UNROLL, b.sdiv(elements, _I64(streams))
    rounds = b.sdiv(apart, _I64(step))
    same = ir.InlineAsm(ir.FunctionType(_PTR, [_PTR]), "", "=r,0", side_effect=True)

    def one_pass(_: Any, state: Values) -> Values:
        where = state[: len(arrays)]
        done = _loop(
            b, rounds, state[len(arrays) :],
            lambda i, running: body(b, where, b.mul(i, _I64(step)), apart, running),
        )  # fmt: skip
        if fence:
            b.call(_declared(module, fence, ir.VoidType(), []), [])
        # The compiler forgets where the arrays are, and keeps nothing from the pass before.
        return [*(b.call(same, [pointer]) for pointer in where), *done]

    zeros = [ir.Constant(v, None)] * sums
    last = _loop(b, passes, [*arrays, *zeros], one_pass)[len(arrays) :]
    b.ret(_total(b, last, _F32, lambda x, _: x))


def _sum(v: Any, streams: int) -> Body:
    def body(b: Any, where: Values, at: Any, apart: Any, sums: Values) -> Values:
        for k in range(streams):
            start = b.add(at, b.mul(apart, _I64(k)))
            sums = [b.fadd(s, _load(b, v, where[0], start, j)) for j, s in enumerate(sums)]
        return sums

    return body


def _write(v: Any, value: Callable[..., Any], past: bool = False) -> Body:
    def body(b: Any, where: Values, at: Any, apart: Any, sums: Values) -> Values:
        for j, x in enumerate([value(b, v, where, at, j) for j in range(UNROLL)]):
            store = b.store(x, _at(b, v, where[0], at, j), align=64)
            if past:
                store.set_metadata("nontemporal", b.module.add_metadata([ir.IntType(32)(1)]))
        return sums

    return body


def _copy(b: Any, v: Any, where: Values, at: Any, j: int) -> Any:
    return _load(b, v, where[1], at, j)


def _triad(b: Any, v: Any, where: Values, at: Any, j: int) -> Any:
    added = _load(b, v, where[1], at, j)
    return _fma(b, _load(b, v, where[2], at, j), SCALE, added)


def _update(b: Any, v: Any, where: Values, at: Any, j: int) -> Any:
    return _fma(b, _load(b, v, where[0], at, j), _FACTOR, SCALE)


def _same(b: Any, v: Any, where: Values, _at: Any, j: int) -> Any:
    return _load(b, v, where[1], _I64(0), j)


def _load(b: Any, v: Any, array: Any, element: Any, j: int) -> Any:
    return b.load(_at(b, v, array, element, j), align=64, typ=v)


def _at(b: Any, v: Any, array: Any, element: Any, j: int) -> Any:
    return b.gep(array, [b.add(element, _I64(j * v.count))], source_etype=_F32)


def _fma(b: Any, x: Any, factor: float, term: Any) -> Any:
    """x * factor + term; fused where the CPU can, and never a call into a library."""
    name = f"llvm.fmuladd.v{x.type.count}f{64 if x.type.element == _F64 else 32}"
    term = _every(x.type, term) if isinstance(term, float) else term
    return b.call(
        _declared(b.module, name, x.type, [x.type] * 3), [x, _every(x.type, factor), term]
    )


def _add_xor(b: Any, x: Any) -> Any:
    return b.xor(b.add(x, _every(x.type, _ADDEND)), _every(x.type, _MASK))


def _chain(module: Any, name: str, v: Any, chains: int, step: Callable[[Any, Any], Any]) -> None:
    """double NAME(passes): independent vectors x = step(x), all in one pass; their sum."""
    function, b = _builder(module, name, _F64, [_I64])
    kind = int if isinstance(v.element, ir.IntType) else float
    starts = [_every(v, kind(j + 1)) for j in range(chains)]
    last = _loop(b, function.args[0], starts, lambda _, xs: [step(b, x) for x in xs])
    widen = {_F32: b.fpext, _F64: lambda x, _: x}.get(v.element, b.uitofp)
    b.ret(_total(b, last, _F64, widen))


def _total(b: Any, vectors: Values, kind: Any, widen: Callable[[Any, Any], Any]) -> Any:
    """Sum of every lane of every vector, each widened to `kind` first."""
    total = ir.Constant(kind, 0)
    for vector in vectors:
        for lane in range(vector.type.count):
            x = b.extract_element(vector, ir.IntType(32)(lane))
            total = b.fadd(total, widen(x, kind))
    return total


def _every(v: Any, value: float) -> Any:
    return ir.Constant(v, [ir.Constant(v.element, value)] * v.count)


def _declared(module: Any, name: str, result: Any, arguments: Values) -> Any:
    known = module.globals.get(name)
    return known or ir.Function(module, ir.FunctionType(result, arguments), name)
