"""CUDA C++ of a loop of warpgroup matrix instructions (wgmma, Hopper), one source a number format.

Two warpgroups a block multiply 64 x K tiles of A with one K x 256 tile of B, all in shared memory,
K-major and swizzled over 128 B, into accumulators in registers.  Nothing else is read, so this is
what the matrix pipe does when it is fed.  A turn is 64 instructions, which pass over a row of 128 B
again and again; it starts from zero, so that values stay finite however long the loop runs.
Whether it does is known at run time only: a compiler that sees it drops all turns but the last.

Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".
"""

from dataclasses import dataclass

M, N, TURN, WARPGROUPS = 64, 256, 64, 2
SHARED = (WARPGROUPS * M + N) * 128  # B of shared memory a block needs
THREADS = 128 * WARPGROUPS


@dataclass(frozen=True, slots=True)
class Format:
    """One pair of operand and accumulator types."""

    operand: str  # as PTX spells it
    accumulator: str
    k: int  # of one dense instruction
    one: int  # bits of 1.0 in every element of a 32 bit word
    keep: int  # bits of random words that are kept: sign and mantissa ...
    fix: int  # ... and the exponent they get, so that values lie in +-[0.5, 1)
    modifiers: str  # scale of A, scale of B, transposes


FORMATS = {
    "fp16": Format("f16", "f32", 16, 0x3C003C00, 0x83FF83FF, 0x38003800, ", 1, 1, 0, 0"),
    "fp16-acc16": Format("f16", "f16", 16, 0x3C003C00, 0x83FF83FF, 0x38003800, ", 1, 1, 0, 0"),
    "bf16": Format("bf16", "f32", 16, 0x3F803F80, 0x807F807F, 0x3F003F00, ", 1, 1, 0, 0"),
    "tf32": Format("tf32", "f32", 8, 0x3F800000, 0x807FE000, 0x3F000000, ", 1, 1"),
    "fp8": Format("e4m3", "f32", 32, 0x38383838, 0x87878787, 0x30303030, ", 1, 1"),
    "fp8-acc16": Format("e4m3", "f16", 32, 0x38383838, 0x87878787, 0x30303030, ", 1, 1"),
    "int8": Format("s8", "s32", 32, 0x01010101, 0xFFFFFFFF, 0, ""),
}


def flop(format: Format, sparse: bool) -> int:
    """Work of one turn of a whole block; the zeros of a sparse A count."""
    return 2 * M * N * format.k * (2 if sparse else 1) * TURN * WARPGROUPS


def expected(format: Format, turns: int) -> int:
    """Every element after `turns` turns that go on, when all of A and B that is stored is one.

    A sparse A has two ones in four, so a row holds as many as a dense row of half the length.
    """
    return format.k * TURN * turns


def source(format: Format, sparse: bool) -> str:
    """The kernel ``matrix_loop(out, times, turns, ones, on)``.

    out[thread] is its result, 0 where not all elements agree; times gathers the cycles and
    nanoseconds of one thread's loops.  With `ones` A and B are ones; `on` is 0 to begin each turn
    from zero, 1 to go on from the turn before.
    """
    wide = format.accumulator != "f16"
    registers = N // 2 if wide else N // 4  # 64 x 256 over 128 threads, two halves a register
    letter = {"f32": "f", "f16": "r", "s32": "r"}[format.accumulator]
    kind = "float" if letter == "f" else "unsigned"
    listed = ", ".join(f"%{i}" for i in range(registers))
    outputs = ", ".join(f'"+{letter}"(d[{i}])' for i in range(registers))
    k = format.k * (2 if sparse else 1)
    extra = f"%{registers + 3}, 0x0, " if sparse else ""
    name = (
        f"wgmma.mma_async{'.sp' if sparse else ''}.sync.aligned.m{M}n{N}k{k}"
        f".{format.accumulator}.{format.operand}.{format.operand}"
    )
    row_bytes = 128
    # An instruction takes 32 B of a row of A, which are half of 64 B of B where A is sparse.
    step_b, steps_b = (4, 2) if sparse else (2, 4)
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

// Start address, 1024 B from one group of 8 rows to the next, swizzle over 128 B.
static __device__ u64 tile(u32 at) {{
    return (u64)((at & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}}

static __device__ void multiply({kind} (&d)[{registers}], u64 a, u64 b, u32 go_on, u32 chosen) {{
    asm volatile(
        "{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{registers + 2}, 0;\\n"
        "{name} {{{listed}}}, %{registers}, %{registers + 1}, {extra}p{format.modifiers};\\n}}\\n"
        : {outputs} : "l"(a), "l"(b), "r"(go_on), "r"(chosen));
}}

extern "C" __global__ void __launch_bounds__({THREADS}, 1)
matrix_loop({kind} *out, u64 *times, int turns, int ones, int on) {{
    extern __shared__ __align__(1024) u32 held[];
    const int words_a = {WARPGROUPS} * {M} * {row_bytes} / 4, words_b = {N} * {row_bytes} / 4;
    for (int i = threadIdx.x; i < words_a + words_b; i += blockDim.x)
        held[i] = ones ? {format.one:#x}u
                       : (bits(i + blockIdx.x * 65537u) & {format.keep:#x}u) | {format.fix:#x}u;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    u32 base = (u32)__cvta_generic_to_shared(held);
    u64 a = tile(base + (threadIdx.x / 128) * {M * row_bytes}), b = tile(base + 4 * words_a);
    {kind} d[{registers}] = {{}};
    TIMED(begin)
#pragma unroll 1
    for (int turn = 0; turn < turns; turn++) {{
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int i = 0; i < {TURN}; i++)
            multiply(d, a + 2 * (i % 4), b + {step_b} * (i % {steps_b}), i ? 1 : on, 0x44444444u);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }}
    TIMED(end)
    if (blockIdx.x == 0 && threadIdx.x == 0) {{
        atomicAdd(times, end_cycle - begin_cycle);
        atomicAdd(times + 1, end_ns - begin_ns);
    }}
    bool same = true;
#pragma unroll
    for (int i = 1; i < {registers}; i++) same = same && d[i] == d[0];
    out[blockIdx.x * blockDim.x + threadIdx.x] = same ? d[0] : ({kind})0;
}}
"""
