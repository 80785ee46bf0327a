// Reads that stay inside one multiprocessor: from its L1 cache, and from its shared memory.
// 16 B a lane, or 4 B a lane with a chosen number of lanes on each bank.
// Results are folded together and never stored; `never` is 0 at run time.

typedef unsigned int u32;

struct Four { u32 x, y, z, w; };

static __device__ Four cached(const Four *at) {
    Four v;
    asm volatile("ld.global.ca.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(at));
    return v;
}

static __device__ Four shared4(u32 at) {
    Four v;
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at));
    return v;
}

static __device__ u32 shared1(u32 at) {
    u32 v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at));
    return v;
}

static __device__ u32 bits(u32 i) { i *= 2654435761u; i ^= i >> 15; i *= 2246822519u; return i ^ (i >> 13); }

// Threads of a block and loads in flight; fixed, so that addresses are immediate offsets.
#define BLOCK 512
#define UNROLL 8
#define HELD 4  // the same for shared memory, of which a block has 48 KiB without asking

// x: `count` Fours a block, count a multiple of UNROLL * BLOCK.  sums[0] holds the fold of
// block 0 when `keep` is 1 (a check); otherwise nothing is written.
extern "C" __global__ void __launch_bounds__(BLOCK) l1_read(
        const Four *x, u32 *sums, int count, int rounds, int never, int keep) {
    const Four *mine = x + threadIdx.x;
    u32 fold = 0;
    for (int r = 0; r < rounds; r++) {
        mine += never;
        for (int i = 0; i < count; i += UNROLL * BLOCK) {
#pragma unroll
            for (int u = 0; u < UNROLL; u++) {
                Four v = cached(mine + i + u * BLOCK);
                fold ^= v.x ^ v.y;
                fold ^= v.z ^ v.w;
            }
        }
    }
    if (keep && blockIdx.x == 0) atomicXor(sums, fold);
    if (fold == 0x12345u && never) sums[threadIdx.x] = fold;
}

// The same over `count` Fours of shared memory, a multiple of HELD * BLOCK.
extern "C" __global__ void __launch_bounds__(BLOCK) shared_read(
        u32 *sums, int count, int rounds, int never, int keep) {
    extern __shared__ Four held[];
    u32 *words = (u32 *)held;
    for (int i = threadIdx.x; i < 4 * count; i += blockDim.x) words[i] = bits(i + blockIdx.x);
    __syncthreads();
    u32 at = (u32)__cvta_generic_to_shared(held) + 16 * threadIdx.x, fold = 0;
    for (int r = 0; r < rounds; r++) {
        at += never;
        for (int i = 0; i < count; i += HELD * BLOCK) {
#pragma unroll
            for (int u = 0; u < HELD; u++) {
                Four v = shared4(at + 16 * (i + u * BLOCK));
                fold ^= v.x ^ v.y;
                fold ^= v.z ^ v.w;
            }
        }
    }
    if (keep && blockIdx.x == 0) atomicXor(sums, fold);
    if (fold == 0x12345u && never) sums[threadIdx.x] = fold;
}

// `degree` lanes of every warp read different words of the same bank: 4 B a lane.
extern "C" __global__ void __launch_bounds__(BLOCK) shared_conflicts(
        u32 *sums, int degree, int rounds, int never) {
    extern __shared__ Four held[];
    u32 *words = (u32 *)held;
    for (int i = threadIdx.x; i < 32 * 32; i += blockDim.x) words[i] = bits(i + blockIdx.x);
    __syncthreads();
    u32 lane = threadIdx.x % 32;
    u32 word = (lane % degree) * 32 + lane / degree;
    u32 at = (u32)__cvta_generic_to_shared(held) + 4 * word, fold = 0;
    for (int r = 0; r < rounds; r++) {
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            at += never;  // keeps the loads of different turns apart
            fold ^= shared1(at);
        }
    }
    if (fold == 0x12345u && never) sums[threadIdx.x] = fold;
}
