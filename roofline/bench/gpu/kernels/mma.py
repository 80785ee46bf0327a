"""CUDA C++ of a loop of warp matrix instructions (mma.sync), one source a number format.

Every warp adds the product of the same small tiles, which it keeps in registers, to `CHAINS`
independent accumulators, and takes it away again with -A, so that values stay small.  For chips
before Hopper, and for fp64; Hopper reaches its full rate with wgmma only.

Source: PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions".
"""

from dataclasses import dataclass

CHAINS, WARPS, BLOCKS_PER_SM = 8, 8, 2
THREADS = 32 * WARPS


@dataclass(frozen=True, slots=True)
class Format:
    """One instruction: its shape, registers and number formats."""

    shape: tuple[int, int, int]  # m, n, k
    types: str  # D.A.B.C as PTX spells them
    a: int  # registers of A a lane
    b: int
    c: int
    letter: str  # constraint of an accumulator: f, r (two halves or an integer), d
    one: int  # bits of ones in a register of A and B
    keep: int
    fix: int
    flip: int  # changes the sign of every element; 0 for integers, which wrap
    since: int  # compute capability


_HALF = (0x3C003C00, 0x83FF83FF, 0x38003800, 0x80008000)
_BF16 = (0x3F803F80, 0x807F807F, 0x3F003F00, 0x80008000)
_TF32 = (0x3F800000, 0x807FE000, 0x3F000000, 0x80000000)
_FP8 = (0x38383838, 0x87878787, 0x30303030, 0x80808080)
_INT8 = (0x01010101, 0xFFFFFFFF, 0, 0)
# Of a double only the upper word is drawn; the lower one is random as it is.
_FP64 = (0x3FF00000, 0x800FFFFF, 0x3FE00000, 0x80000000)

FORMATS: dict[str, tuple[Format, ...]] = {  # the last that the chip knows is used
    "fp16": (Format((16, 8, 16), "f32.f16.f16.f32", 4, 2, 4, "f", *_HALF, since=80),),
    "fp16-acc16": (Format((16, 8, 16), "f16.f16.f16.f16", 4, 2, 2, "r", *_HALF, since=80),),
    "bf16": (Format((16, 8, 16), "f32.bf16.bf16.f32", 4, 2, 4, "f", *_BF16, since=80),),
    "tf32": (Format((16, 8, 8), "f32.tf32.tf32.f32", 4, 2, 4, "f", *_TF32, since=80),),
    "fp8": (Format((16, 8, 32), "f32.e4m3.e4m3.f32", 4, 2, 4, "f", *_FP8, since=89),),
    "fp8-acc16": (Format((16, 8, 32), "f16.e4m3.e4m3.f16", 4, 2, 2, "r", *_FP8, since=89),),
    "int8": (Format((16, 8, 32), "s32.s8.s8.s32", 4, 2, 4, "r", *_INT8, since=80),),
    "fp64": (
        Format((8, 8, 4), "f64.f64.f64.f64", 1, 1, 2, "d", *_FP64, since=80),
        Format((16, 8, 16), "f64.f64.f64.f64", 8, 4, 4, "d", *_FP64, since=90),
    ),
}


def best(name: str, capability: int) -> Format | None:
    """The instruction for this format on a chip of that compute capability (90 is 9.0)."""
    known = [form for form in FORMATS.get(name, ()) if form.since <= capability]
    return known[-1] if known else None


def flop(form: Format) -> int:
    """Work of one turn of a whole block: a product added and taken away, for every chain."""
    m, n, k = form.shape
    return 2 * m * n * k * 2 * CHAINS * WARPS


def expected(form: Format, turns: int) -> int:
    """Every element of the result of `turns` turns when A and B are ones and nothing is flipped."""
    return form.shape[2] * 2 * turns


def source(form: Format) -> str:
    """The kernel ``matrix_loop(out, times, turns, ones, on)``.

    out[thread] is its result, 0 where not all elements agree; times gathers the cycles and
    nanoseconds of one thread's loops.  With `ones` A and B are ones and the second product is
    added too; `on` is not used.
    """
    m, n, k = form.shape
    wide = form.letter == "d"
    kind = {"f": "float", "r": "unsigned", "d": "double"}[form.letter]
    operand, constraint = ("double", "d") if wide else ("unsigned", "r")
    total = form.c
    d = ", ".join(f"%{i}" for i in range(total))
    a = ", ".join(f"%{total + i}" for i in range(form.a))
    b = ", ".join(f"%{total + form.a + i}" for i in range(form.b))
    outputs = ", ".join(f'"+{form.letter}"(d[{i}])' for i in range(total))
    inputs = ", ".join(
        f'"{constraint}"({name}[{i}])'
        for name, count in (("a", form.a), ("b", form.b))
        for i in range(count)
    )
    draw = (
        f"__hiloint2double(ones ? {form.one:#x}u : (bits(i) & {form.keep:#x}u) | {form.fix:#x}u, "
        "ones ? 0u : bits(~i))"
        if wide
        else f"ones ? {form.one:#x}u : (bits(i) & {form.keep:#x}u) | {form.fix:#x}u"
    )
    negative = "ones ? a[i] : -a[i]" if wide else f"a[i] ^ (ones ? 0u : {form.flip:#x}u)"
    return f"""
typedef unsigned int u32;
typedef unsigned long long u64;

// Cycles and nanoseconds at one moment: the clock while the pipe works.
#define TIMED(at) u64 at##_cycle, at##_ns; \\
    asm volatile("mov.u64 %0, %%clock64; mov.u64 %1, %%globaltimer;" \\
                 : "=l"(at##_cycle), "=l"(at##_ns) :: "memory");

static __device__ u32 bits(u32 i) {{
    i *= 2654435761u; i ^= i >> 15; i *= 2246822519u; return i ^ (i >> 13);
}}

static __device__ void multiply({kind} (&d)[{form.c}], const {operand} (&a)[{form.a}],
                                const {operand} (&b)[{form.b}]) {{
    asm volatile("mma.sync.aligned.m{m}n{n}k{k}.row.col.{form.types} "
                 "{{{d}}}, {{{a}}}, {{{b}}}, {{{d}}};" : {outputs} : {inputs});
}}

extern "C" __global__ void __launch_bounds__({THREADS}, {BLOCKS_PER_SM})
matrix_loop({kind} *out, u64 *times, int turns, int ones, int on) {{
    u32 seed = 64u * (blockIdx.x * blockDim.x + threadIdx.x);
    {operand} a[{form.a}], less[{form.a}], b[{form.b}];
#pragma unroll
    for (int n = 0; n < {form.a}; n++) {{ u32 i = seed + n; a[n] = {draw}; }}
#pragma unroll
    for (int n = 0; n < {form.b}; n++) {{ u32 i = seed + 32 + n; b[n] = {draw}; }}
#pragma unroll
    for (int i = 0; i < {form.a}; i++) less[i] = {negative};
    {kind} d[{CHAINS}][{form.c}] = {{}};
    TIMED(begin)
    for (int turn = 0; turn < turns; turn++) {{
#pragma unroll
        for (int chain = 0; chain < {CHAINS}; chain++) multiply(d[chain], a, b);
#pragma unroll
        for (int chain = 0; chain < {CHAINS}; chain++) multiply(d[chain], less, b);
    }}
    TIMED(end)
    if (blockIdx.x == 0 && threadIdx.x == 0) {{
        atomicAdd(times, end_cycle - begin_cycle);
        atomicAdd(times + 1, end_ns - begin_ns);
    }}
    bool same = true;
#pragma unroll
    for (int chain = 0; chain < {CHAINS}; chain++)
#pragma unroll
        for (int i = 0; i < {form.c}; i++) same = same && d[chain][i] == d[0][0];
    out[blockIdx.x * blockDim.x + threadIdx.x] = same ? d[0][0] : ({kind})0;
}}
"""
