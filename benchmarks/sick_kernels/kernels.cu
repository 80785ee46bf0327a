// Sick kernels and their cured twins: the same work, one planted fault.
//
// Built with `nvcc -O3 -arch=native -shared -Xcompiler -fPIC kernels.cu -o libsick.so`; called
// through ctypes by sick.py with device pointers.  n is a number of fp32 elements.

#include <cuda_runtime.h>

// 1. Uncoalesced: neighbouring threads read addresses `stride` elements apart.
__global__ void strided_copy_sick(const float* x, float* y, long n, long stride) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) {
    long rows = n / stride;
    y[i] = x[(i % rows) * stride + i / rows];
  }
}

// What both memory twins run: 16 bytes a thread, four of them in flight.
__global__ void vector_copy(const float4* x, float4* y, long n4) {
  long i = blockIdx.x * 4L * blockDim.x + threadIdx.x;
  float4 v[4];
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (i + k * blockDim.x < n4) v[k] = x[i + k * blockDim.x];
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (i + k * blockDim.x < n4) y[i + k * blockDim.x] = v[k];
}

// 2. One warp an SM: nobody hides the latency of memory.  The twin fills the chip.
__global__ void grid_stride_copy(const float* x, float* y, long n) {
  for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (long)blockDim.x)
    y[i] = x[i];
}

// 3. A tail: blocks of equal work, a few more than one wave.  The twin has whole waves.
__global__ __launch_bounds__(1024, 2) void waves_fma(float* y, int rounds) {
  float a = threadIdx.x, b = 1.0001f, c = 0.5f, d = a + 1, e = a + 2, f = a + 3;
  for (int r = 0; r < rounds; ++r) {
    a = a * b + c;
    d = d * b + c;
    e = e * b + c;
    f = f * b + c;
  }
  y[blockIdx.x * (long)blockDim.x + threadIdx.x] = a + d + e + f;
}

// 4. Register spills: 96 values alive at once under a limit of 32 registers a thread.
template <int LIMIT>
__device__ void many_values(const float* x, float* y, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v[96];
#pragma unroll
  for (int k = 0; k < 96; ++k) v[k] = x[(i + k * 32) % n];
#pragma unroll 1
  for (int round = 0; round < 4; ++round) {
#pragma unroll
    for (int k = 0; k < 96; ++k) v[k] = v[k] * 1.0001f + v[(k * 7 + 1) % 96];
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 96; ++k) sum += v[k];
  y[i] = sum;
}
__global__ __launch_bounds__(1024, 2) void spill_sick(const float* x, float* y, long n) {
  many_values<0>(x, y, n);
}
__global__ __launch_bounds__(256, 1) void spill_cured(const float* x, float* y, long n) {
  many_values<1>(x, y, n);
}

// 5. Bank conflicts: columns of a 32 x 32 tile lie in one bank.  The twin's rows are padded.
template <int PAD>
__device__ void tile_transposes(const float* x, float* y, int rounds) {
  __shared__ float tile[32][32 + PAD];
  long base = blockIdx.x * 1024L;
  int tx = threadIdx.x, ty = threadIdx.y;
  tile[ty][tx] = x[base + ty * 32 + tx];
  __syncthreads();
  float sum = 0;
  for (int r = 0; r < rounds; ++r) {
    sum += tile[tx][(ty + r) & 31];
    __syncthreads();
    tile[tx][(ty + r) & 31] = sum;
    __syncthreads();
  }
  y[base + ty * 32 + tx] = sum;
}
__global__ void bank_sick(const float* x, float* y, int rounds) { tile_transposes<0>(x, y, rounds); }
__global__ void bank_cured(const float* x, float* y, int rounds) { tile_transposes<1>(x, y, rounds); }

// 8. Exp-heavy: 32 exponentials an element.  The twin computes them as polynomials on the fp32 pipe.
__global__ void exp_sick(const float* x, float* y, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i], sum = 0;
#pragma unroll
  for (int k = 0; k < 32; ++k) sum += __expf(v * (0.001f * k));
  y[i] = sum;
}
__global__ void exp_cured(const float* x, float* y, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i], sum = 0;
#pragma unroll
  for (int k = 0; k < 32; ++k) {
    float t = v * (0.001f * k);  // |t| is small: four terms suffice
    sum += 1.0f + t * (1.0f + t * (0.5f + t * (0.16666667f + t * 0.041666667f)));
  }
  y[i] = sum;
}

// 9. Tiny launches: one element a thread, few threads, many launches.  The twin does it in one.
__global__ void add_one(float* y, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) y[i] += 1.0f;
}

// 11. Camping: every warp reads the same eight lines of 128 B, a power of two apart, past the L1, so
// that few slices of the L2 serve all of them.  The twin's warps read as much all over an array that
// fits the L2; `count` lines, a power of two.
template <bool SPREAD>
__device__ void lines(const float* x, float* y, int rounds, long count) {
  long thread = blockIdx.x * (long)blockDim.x + threadIdx.x, warp = thread / 32, lane = thread % 32;
  float sum = 0;
#pragma unroll 8
  for (int r = 0; r < rounds; ++r) {
    long line = SPREAD ? (warp * rounds + r) & (count - 1) : (r & 7) * (count / 8);
    // Volatile loads are made every time, and by the L2.
    sum += *(volatile const float*)(x + line * 32 + lane);
  }
  y[thread] = sum;
}
__global__ void camp_sick(const float* x, float* y, int rounds, long count) {
  lines<false>(x, y, rounds, count);
}
__global__ void camp_cured(const float* x, float* y, int rounds, long count) {
  lines<true>(x, y, rounds, count);
}

// 12. Conversions: 32 roundings an element, each to an integer and back.  The twin rounds by adding
// and subtracting 1.5 * 2^23, behind which fp32 has no fraction.
__global__ void convert_sick(const float* x, float* y, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i], sum = 0;
#pragma unroll
  for (int k = 1; k <= 32; ++k) sum += __int2float_rn(__float2int_rn(v * (1.5f * k)));
  y[i] = sum;
}
__global__ void convert_cured(const float* x, float* y, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i], sum = 0;
#pragma unroll
  for (int k = 1; k <= 32; ++k) sum += __fsub_rn(__fadd_rn(v * (1.5f * k), 12582912.0f), 12582912.0f);
  y[i] = sum;
}

static unsigned blocks(long n, int block) { return (unsigned)((n + block - 1) / block); }

static void good_copy(const float* x, float* y, long n, cudaStream_t s) {
  vector_copy<<<blocks(n / 4, 1024), 256, 0, s>>>((const float4*)x, (float4*)y, n / 4);
}

extern "C" {
void strided_copy(const float* x, float* y, long n, int cured, cudaStream_t s) {
  if (cured) good_copy(x, y, n, s);
  else strided_copy_sick<<<blocks(n, 256), 256, 0, s>>>(x, y, n, 4096);
}
void one_warp(const float* x, float* y, long n, int cured, int sms, cudaStream_t s) {
  if (cured) good_copy(x, y, n, s);
  else grid_stride_copy<<<sms, 32, 0, s>>>(x, y, n);
}
void tail(float* y, int cured, int sms, cudaStream_t s) {
  int wave = 2 * sms;
  if (cured) waves_fma<<<wave, 1024, 0, s>>>(y, 4096 * 301 / 264);
  else waves_fma<<<wave + 37, 1024, 0, s>>>(y, 4096);
}
void spill(const float* x, float* y, long n, int cured, cudaStream_t s) {
  if (cured) spill_cured<<<blocks(n, 256), 256, 0, s>>>(x, y, n);
  else spill_sick<<<blocks(n, 1024), 1024, 0, s>>>(x, y, n);
}
void bank(const float* x, float* y, long n, int cured, cudaStream_t s) {
  dim3 block(32, 32);
  if (cured) bank_cured<<<n / 1024, block, 0, s>>>(x, y, 64);
  else bank_sick<<<n / 1024, block, 0, s>>>(x, y, 64);
}
void exps(const float* x, float* y, long n, int cured, cudaStream_t s) {
  if (cured) exp_cured<<<blocks(n, 256), 256, 0, s>>>(x, y, n);
  else exp_sick<<<blocks(n, 256), 256, 0, s>>>(x, y, n);
}
void camp(const float* x, float* y, int cured, int sms, cudaStream_t s) {
  long count = 1 << 17;  // 16 MiB
  if (cured) camp_cured<<<8 * sms, 256, 0, s>>>(x, y, 512, count);
  else camp_sick<<<8 * sms, 256, 0, s>>>(x, y, 512, count);
}
void convert(const float* x, float* y, long n, int cured, cudaStream_t s) {
  if (cured) convert_cured<<<blocks(n, 256), 256, 0, s>>>(x, y, n);
  else convert_sick<<<blocks(n, 256), 256, 0, s>>>(x, y, n);
}
void tiny(float* y, long n, int launches, cudaStream_t s) {
  long part = n / launches;
  for (int p = 0; p < launches; ++p) add_one<<<blocks(part, 256), 256, 0, s>>>(y + p * part, part);
}
}
