// The compute clock, sampled: cycles between two ticks of the nanosecond timer.
// Launched with one thread; it runs in registers for `least_ns` and disturbs nothing.

typedef unsigned long long u64;

static __device__ u64 ns() { u64 t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t; }
static __device__ u64 cycles() { u64 t; asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)); return t; }

// The timer steps coarsely (a microsecond on some chips): begin and end right after a step.
static __device__ u64 next_tick() {
    u64 before = ns(), now;
    do { now = ns(); } while (now == before);
    return now;
}

extern "C" __global__ void sampled_clock(u64 *out, int slot, u64 least_ns) {
    u64 start_ns = next_tick(), start = cycles(), end_ns;
    do { end_ns = next_tick(); } while (end_ns - start_ns < least_ns);
    out[2 * slot] = cycles() - start;
    out[2 * slot + 1] = end_ns - start_ns;
}

extern "C" __global__ void nothing() {}
