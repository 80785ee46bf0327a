/* Loops whose speed is a ceiling: read, copy, triad, update and write over memory, chains of arithmetic in
   registers.

   Explicit vectors (GCC and clang vector extensions), as wide as the target compiled for.  No header
   and no library is used, so that a bare compiler is enough.  Every function repeats its work `passes`
   times; between passes an empty asm makes the compiler forget where the array is, so that it can
   neither merge passes nor keep loads from the pass before.

   `elements` counts fp32 values in one array and is a multiple of GRAIN; arrays are aligned to 64 B.
   Every memory loop takes three arrays, whether it needs them or not, so that all are called alike. */

typedef __INT64_TYPE__ i64;

#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#elif defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS >= 128
#define WIDTH (__ARM_FEATURE_SVE_BITS / 8)
#else
#define WIDTH 16
#endif

/* Chains in flight: latency times issue width is 8 to 16 on today's cores; more would spill where
   there are 16 registers only. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define CHAINS 24
#else
#define CHAINS 12
#endif

typedef float v32 __attribute__((vector_size(WIDTH), aligned(WIDTH), may_alias));
typedef double v64 __attribute__((vector_size(WIDTH), aligned(WIDTH), may_alias));
typedef unsigned vu32 __attribute__((vector_size(WIDTH), aligned(WIDTH), may_alias));

#define UNROLL 8
#define STREAMS 4
#define LANES ((i64)(WIDTH / sizeof(float)))
#define GRAIN (LANES * UNROLL * STREAMS)
#define FORGET(pointer) __asm__ volatile("" : "+r"(pointer))

const i64 width = WIDTH, chains = CHAINS, grain = GRAIN;

static float total(const v32 *sums) {
  v32 sum = {0};
  float all = 0;
  for (int j = 0; j < UNROLL; j++) sum += sums[j];
  for (int j = 0; j < LANES; j++) all += sum[j];
  return all;
}

#define STREAM(NAME)                                                                      \
  float NAME(float *a, const float *b, const float *c, i64 elements, i64 passes)

/* Sum of a[elements]. */
STREAM(read_plain) {
  v32 s[UNROLL] = {{0}};
  for (i64 pass = 0; pass < passes; pass++) {
    const v32 *p = (const v32 *)a;
    for (i64 i = elements / (LANES * UNROLL); i > 0; i--, p += UNROLL) {
#pragma GCC unroll 8
      for (int j = 0; j < UNROLL; j++) s[j] += p[j];
    }
    FORGET(a);
  }
  return (void)b, (void)c, total(s);
}

/* The same, from four places at once: more misses are in flight far from the core. */
STREAM(read_four_streams) {
  v32 s[UNROLL] = {{0}};
  i64 apart = elements / (LANES * STREAMS); /* vectors */
  for (i64 pass = 0; pass < passes; pass++) {
    const v32 *p = (const v32 *)a;
    for (i64 i = apart / UNROLL; i > 0; i--, p += UNROLL) {
#pragma GCC unroll 4
      for (int k = 0; k < STREAMS; k++) {
#pragma GCC unroll 8
        for (int j = 0; j < UNROLL; j++) s[j] += p[k * apart + j];
      }
    }
    FORGET(a);
  }
  return (void)b, (void)c, total(s);
}

/* a[elements] = VALUE of a, b and c, stored by PUT; END stands after every pass.  `same` is the beginning
   of b again and again. */
#define WRITER(NAME, VALUE, PUT, END)                                                     \
  STREAM(NAME) {                                                                          \
    const v32 factor = (v32){0} + SCALE, *same = (const v32 *)b;                          \
    for (i64 pass = 0; pass < passes; pass++) {                                           \
      v32 *to = (v32 *)a;                                                                 \
      const v32 *p = (const v32 *)b, *q = (const v32 *)c;                                 \
      for (i64 i = elements / (LANES * UNROLL); i > 0; i--) {                             \
        v32 t[UNROLL];                                                                    \
        _Pragma("GCC unroll 8") for (int j = 0; j < UNROLL; j++) t[j] = VALUE;            \
        _Pragma("GCC unroll 8") for (int j = 0; j < UNROLL; j++) PUT(to + j, t[j]);       \
        to += UNROLL, p += UNROLL, q += UNROLL;                                           \
      }                                                                                   \
      FORGET(b);                                                                          \
      FORGET(c);                                                                          \
      FORGET(a);                                                                          \
      END;                                                                                \
    }                                                                                     \
    return (void)factor, (void)same, 0;                                                   \
  }
#define SCALE 1.25f
#define STORE(where, what) (*(where) = (what))

/* Stores that bypass the caches: no line is read before it is overwritten. */
#if defined(__clang__)
#define BYPASS(where, what) __builtin_nontemporal_store(what, where)
#elif defined(__AVX512F__)
#define BYPASS(where, what) __builtin_ia32_movntps512((float *)(where), what)
#elif defined(__AVX__)
#define BYPASS(where, what) __builtin_ia32_movntps256((float *)(where), what)
#elif defined(__SSE__)
#define BYPASS(where, what) __builtin_ia32_movntps((float *)(where), what)
#endif
#if defined(__SSE__)
#define DRAIN __builtin_ia32_sfence()
#else
#define DRAIN
#endif

/* In place: what is written was just read, so no line is fetched for the sake of writing to it. */
WRITER(update_plain, to[j] * -0.99999f + factor, STORE, )
WRITER(copy_plain, p[j], STORE, )
WRITER(triad_plain, p[j] + factor * q[j], STORE, )
WRITER(write_plain, same[j], STORE, )
#if defined(BYPASS)
WRITER(copy_bypass, p[j], BYPASS, DRAIN)
WRITER(triad_bypass, p[j] + factor * q[j], BYPASS, DRAIN)
WRITER(write_bypass, same[j], BYPASS, DRAIN)
#endif

/* CHAINS independent vectors, each x = STEP(x) again and again; returns their sum. */
#define CHAIN(NAME, SCALAR, VECTOR, STEP)                                                 \
  double NAME(i64 passes) {                                                               \
    VECTOR x[CHAINS];                                                                     \
    double all = 0;                                                                       \
    for (int j = 0; j < CHAINS; j++) x[j] = (VECTOR){0} + (SCALAR)(j + 1);                \
    for (i64 pass = 0; pass < passes; pass++) {                                           \
      _Pragma("GCC unroll 32") for (int j = 0; j < CHAINS; j++) x[j] = STEP(x[j]);        \
    }                                                                                     \
    for (int j = 0; j < CHAINS; j++)                                                      \
      for (unsigned k = 0; k < WIDTH / sizeof(SCALAR); k++) all += x[j][k];               \
    return all;                                                                           \
  }
/* Two flop a lane.  With a factor near -1 the values alternate and stay normal. */
#define MULTIPLY_ADD_32(x) ((x) * -0.99999f + 0.5f)
#define MULTIPLY_ADD_64(x) ((x) * -0.99999 + 0.5)
/* Two op a lane. */
#define ADD_XOR(x) (((x) + 0x2545F491) ^ 0x1D872B41)

CHAIN(fma_fp32, float, v32, MULTIPLY_ADD_32)
CHAIN(fma_fp64, double, v64, MULTIPLY_ADD_64)
CHAIN(add_xor_int32, unsigned, vu32, ADD_XOR)
