/* The intensity dial: z[i] = F times (v = v*a + b) of x[i], in `CHAINS` vectors at a time or in one.

   `elements` is a multiple of CHAINS vectors; arrays are aligned to a vector. */

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
#define CHAINS 8

typedef float vec __attribute__((vector_size(WIDTH), aligned(WIDTH), may_alias));
#define LANES ((i64)(WIDTH / sizeof(float)))

const i64 lanes = WIDTH / sizeof(float), chains = CHAINS;

#define DIAL(NAME, N)                                                                  \
  void NAME(const float *x, float *z, i64 elements, i64 f, i64 passes) {               \
    vec a = (vec){0} - 1.0f, b = (vec){0} + 2.0f;                                      \
    __asm__("" : "+" REGISTER(a), "+" REGISTER(b));                                    \
    for (; passes > 0; passes--) {                                                     \
      __asm__ volatile("" : "+r"(x), "+r"(z));                                         \
      for (i64 i = 0; i < elements; i += LANES * N) {                                  \
        vec v[N];                                                                      \
        for (int j = 0; j < N; j++) v[j] = *(const vec *)(x + i + j * LANES);          \
        for (i64 k = 0; k < f; k++)                                                    \
          for (int j = 0; j < N; j++) {                                                \
            v[j] = v[j] * a + b;                                                       \
            __asm__("" : "+" REGISTER(v[j]));                                          \
          }                                                                            \
        for (int j = 0; j < N; j++) *(vec *)(z + i + j * LANES) = v[j];                \
      }                                                                                \
    }                                                                                  \
  }

/* Empty asm, so that the compiler neither knows the factors nor sees two steps undo each other. */
#if defined(__x86_64__)
#define REGISTER(v) "x"(v)
#else
#define REGISTER(v) "w"(v)
#endif

DIAL(dial, CHAINS)
DIAL(dial_one, 1)

/* `n` dependent additions, one cycle each on every core made: a clock. */
#if defined(__x86_64__)
#define ADD "add %1, %0"
#else
#define ADD "add %0, %0, %1"
#endif
i64 ticks(i64 n) {
  i64 x = n;
  for (i64 i = n / 64; i > 0; i--) {
#pragma GCC unroll 64
    for (int j = 0; j < 64; j++) __asm__ volatile(ADD : "+r"(x) : "r"(i));
  }
  return x;
}
