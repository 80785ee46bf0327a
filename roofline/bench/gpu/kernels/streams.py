"""Streams over memory: read, write, copy and triad of fp32 arrays, once or round and round.

    read   s += x         4 B an element
    write  z  = hash(i)   4 B
    copy   z  = x         8 B
    triad  z  = x + c*y  12 B

`once` passes over arrays of n elements, n a multiple of `UNROLL * BLOCK`; `around` lets every
program pass over an array that stays in a cache, beginning at a place of its own.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
import triton
import triton.language as tl


@triton.jit
def once(x, y, z, BLOCK: tl.constexpr, UNROLL: tl.constexpr, ACCESS: tl.constexpr):
    """One pass; program p covers the p-th `UNROLL * BLOCK` elements."""
    lanes = tl.arange(0, BLOCK)
    start = tl.program_id(0) * (UNROLL * BLOCK)
    if ACCESS == "read":
        total = tl.zeros([BLOCK], tl.float32)
        for i in tl.static_range(UNROLL):
            total += tl.load(x + start + i * BLOCK + lanes)
        # Nothing sums to this: the comparison keeps the loads alive, the store never happens.
        tl.store(z + lanes, total, mask=total == 1.5e38)
    elif ACCESS == "write":
        for i in tl.static_range(UNROLL):
            index = start + i * BLOCK + lanes
            tl.store(z + index, _scrambled(index))
    elif ACCESS == "copy":
        for i in tl.static_range(UNROLL):
            index = start + i * BLOCK + lanes
            tl.store(z + index, tl.load(x + index), cache_modifier=".cs")
    else:
        for i in tl.static_range(UNROLL):
            index = start + i * BLOCK + lanes
            total = tl.load(x + index) + 1.25 * tl.load(y + index)
            tl.store(z + index, total, cache_modifier=".cs")


@triton.jit
def around(
    x, y, z, blocks, steps,
    BLOCK: tl.constexpr, UNROLL: tl.constexpr, ACCESS: tl.constexpr,
):  # fmt: skip
    """`steps` times `UNROLL` blocks for every program, over arrays of `blocks * BLOCK` elements.

    Programs stride over the blocks together, each the next after its neighbour's, and around; there
    are at least as many blocks as programs.  Loads skip the L1.
    """
    lanes = tl.arange(0, BLOCK)
    programs = tl.num_programs(0)
    block = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for _ in range(steps):
        for _ in tl.static_range(UNROLL):
            index = block * BLOCK + lanes
            if ACCESS == "read":
                total += tl.load(x + index, cache_modifier=".cg")
            elif ACCESS == "write":
                tl.store(z + index, _scrambled(index))
            elif ACCESS == "copy":
                tl.store(z + index, tl.load(x + index, cache_modifier=".cg"))
            else:
                one = tl.load(x + index, cache_modifier=".cg")
                other = tl.load(y + index, cache_modifier=".cg")
                tl.store(z + index, one + 1.25 * other)
            block += programs
            block = tl.where(block >= blocks, block - blocks, block)
    if ACCESS == "read":
        tl.store(z + lanes, total, mask=total == 1.5e38)


@triton.jit
def _scrambled(index):
    """Bits that change from element to element, as a finite float in (-2, -1] or [1, 2)."""
    bits = (index * 1103515245 + 12345).to(tl.uint32)
    return ((bits & 0x807FFFFF) | 0x3F800000).to(tl.float32, bitcast=True)
