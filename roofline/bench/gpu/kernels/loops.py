"""Arithmetic that never leaves the registers, and the intensity dial.

Every lane holds one element; a program of `BLOCK` elements on 32 * warps lanes gives every lane
`BLOCK / (32 * warps)` independent chains.  `rounds` repeats `UNROLL` operations.

    fma       x = x*a + a     2 flop
              launched with fusion off it is two instructions
    int       x = (x + t)^m   2 op
    exp       x = exp(-x)     1 flop of the sfu
    rsqrt     x = rsqrt(x)    1 flop of the sfu

Two operands of an FMA are the same on purpose: three different 64 bit ones cannot be read from the
register banks in time, which costs fp64 8 % on Hopper.

    dial      z = F times x*a + b over an array: 8 B and 2F flop an element
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
import triton
import triton.language as tl


@triton.jit
def registers(x, a, b, rounds, BLOCK: tl.constexpr, UNROLL: tl.constexpr, STEP: tl.constexpr):
    """`rounds * UNROLL` steps on one element a lane and chain, read from x and written back."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + place)
    # Numbers arrive as fp32 and would widen halves.
    a, b = a.to(value.dtype), b.to(value.dtype)
    for _ in range(rounds):
        for _ in tl.static_range(UNROLL):
            if STEP == "fma":
                value = value * a + a
            elif STEP == "int":
                value = (value + a) ^ b
            elif STEP == "exp":
                value = tl.exp(-value)
            else:
                value = tl.rsqrt(value)
    tl.store(x + place, value)


@triton.jit
def dial(x, z, a, b, steps, BLOCK: tl.constexpr, F: tl.constexpr, ROUNDS: tl.constexpr):
    """Load an element, F FMAs, store it; `ROUNDS` times F / ROUNDS of them are unrolled.

    Every program does so for `steps` blocks, a whole grid of programs apart.
    """
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for _ in range(steps):
        value = tl.load(x + place)
        if ROUNDS == 1:
            for _ in tl.static_range(F):
                value = value * a + b
        else:
            for _ in range(ROUNDS):
                for _ in tl.static_range(F // ROUNDS):
                    value = value * a + b
        tl.store(z + place, value, cache_modifier=".cs")
        place += tl.num_programs(0) * BLOCK


@triton.jit
def nothing():
    """An empty kernel."""
