#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "emulated_gpu/library.h"
#include "emulated_gpu/narrow_floats.h"

namespace emulated_gpu::testing {
namespace {

TEST_CASE("a kernel adds vectors") {
  start();
  const CUmodule module = compile(R"(
    KERNEL(add, float* y, const float* __restrict__ a, const float* b, int64 n) {
      const int64 i = int64(blockIdx.x) * blockDim.x + threadIdx.x;
      if (i < n) y[i] = a[i] + b[i];
    })");
  std::vector<float> a(1000);
  std::vector<float> b(1000);
  std::iota(a.begin(), a.end(), 0.0F);
  std::iota(b.begin(), b.end(), 0.5F);
  const Array<float> x(a);
  const Array<float> z(b);
  const Array<float> y(1000);
  REQUIRE(launch(kernel(module, "add"), {4}, {256}, nullptr, y.address(), x.address(), z.address(),
                 1000LL) == CUDA_SUCCESS);
  const std::vector<float> sums = y.values();
  for (std::size_t i = 0; i < sums.size(); ++i) CHECK(sums[i] == a[i] + b[i]);
}

TEST_CASE("a block sums with shared memory and exchanges") {
  start();
  const CUmodule module = compile(R"(
    struct Range { int begin, end; };
    KERNEL(sum, float* y, const float* x, Range range) {
      __shared__ float parts[32];
      float total = 0.0f;
      for (int i = range.begin + int(threadIdx.x); i < range.end; i += int(blockDim.x)) {
        total += x[i];
      }
      for (int offset = 16; offset > 0; offset /= 2) {
        total += __shfl_xor_sync(0xffffffffu, total, offset);
      }
      if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = total;
      __syncthreads();
      if (threadIdx.x >= 32) return;
      total = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0.0f;
      for (int offset = 16; offset > 0; offset /= 2) {
        total += __shfl_down_sync(0xffffffffu, total, offset);
      }
      if (threadIdx.x == 0) y[blockIdx.x] = total;
    })");
  std::vector<float> values(5000);
  std::iota(values.begin(), values.end(), 1.0F);
  const Array<float> x(values);
  const Array<float> y(3);
  struct Range {
    int begin, end;
  };
  REQUIRE(launch(kernel(module, "sum"), {3}, {256}, nullptr, y.address(), x.address(),
                 Range{0, 2000}) == CUDA_SUCCESS);
  CHECK(y.values() == std::vector<float>(3, 2001000.0F));
}

/// What a kernel with one array of integers leaves in it.
std::vector<int> values_of(const std::string& body, unsigned threads, std::size_t count,
                           unsigned blocks = 1) {
  start();
  const CUmodule module = compile("KERNEL(test, int* y) {" + body + "}");
  const Array<int> y(std::vector<int>(count, -1));
  REQUIRE(launch(kernel(module, "test"), {blocks}, {threads}, nullptr, y.address()) ==
          CUDA_SUCCESS);
  return y.values();
}

TEST_CASE("threads that have ended count as arrived at a barrier") {
  const std::vector<int> values = values_of(R"(
    __shared__ int parts[96];
    if (threadIdx.x >= 64) return;
    parts[threadIdx.x] = int(threadIdx.x);
    __syncthreads();
    y[threadIdx.x] = parts[63 - threadIdx.x];
    __syncthreads();
    y[threadIdx.x] += 100;)",
                                            96, 64);
  for (int i = 0; i < 64; ++i) CHECK(values[std::size_t(i)] == 163 - i);
}

TEST_CASE("barriers combine what threads say") {
  const std::vector<int> values = values_of(R"(
    const int few = threadIdx.x % 10 == 0;
    const int count = __syncthreads_count(few);
    const int some = __syncthreads_or(few);
    const int none = __syncthreads_or(0);
    const int all = __syncthreads_and(few);
    const int every = __syncthreads_and(1);
    if (threadIdx.x == 77) y[0] = count + 100 * some + 1000 * none + 1000 * all + 10000 * every;)",
                                            100, 1);
  CHECK(values[0] == 10110);
}

TEST_CASE("lanes exchange what they hold") {
  const std::vector<int> values = values_of(R"(
    const int lane = int(threadIdx.x);
    const unsigned all = 0xffffffffu;
    y[lane] = __shfl_sync(all, lane, 5) == 5;
    y[lane] += 2 * (__shfl_up_sync(all, lane, 3) == (lane < 3 ? lane : lane - 3));
    y[lane] += 4 * (__shfl_down_sync(all, double(lane), 30) == (lane > 1 ? lane : lane + 30));
    y[lane] += 8 * (__shfl_xor_sync(all, 1LL << lane, 7) == 1LL << (lane ^ 7));
    y[lane] += 16 * (__ballot_sync(all, lane % 2) == 0xaaaaaaaau);
    y[lane] += 32 * (__any_sync(all, lane == 9) && !__any_sync(all, 0) && __all_sync(all, 1) &&
                     !__all_sync(all, lane));
    y[lane] += 64 * (__shfl_down_sync(all, lane, 2, 8) == (lane % 8 < 6 ? lane + 2 : lane));
    if (lane < 8) y[lane] += 128 * (__shfl_xor_sync(0xffu, lane, 1) == (lane ^ 1));
    else y[lane] += 128 * (__shfl_sync(0xffffff00u, lane, 9) == 9);
    __syncwarp();)",
                                            32, 32);
  CHECK(values == std::vector<int>(32, 255));
}

TEST_CASE("a warp multiplies matrices that it has loaded") {
  // The real NVRTC, which has a look at all kernels here, knows no such functions.
  const std::vector<int> values = values_of(R"(
#ifdef EMULATED_GPU
    const int lane = int(threadIdx.x);
    __shared__ __align__(16) unsigned short a[16][16], b[16][8];
    const auto left = [](int i, int k) { return float(3 * i - k); };
    const auto right = [](int k, int j) { return float(k % 5 + 2 * j); };
    for (int i = 0; i < 16; ++i) {
      if (lane < 16) a[i][lane] = emulated_gpu::to_bfloat16(left(i, lane));
      if (lane < 8) b[i][lane] = emulated_gpu::to_bfloat16(right(i, lane));
    }
    __syncwarp();
    unsigned rows[4], columns[4];
    emulated_gpu_load_matrices(rows, a[lane % 16] + lane / 16 * 8, false);
    emulated_gpu_load_matrices(columns, b[lane % 16], true);
    float c[4] = {1, 2, 3, 4};
    emulated_gpu_multiply_add(c, rows, columns, true);
    y[lane] = 0;
    for (int n = 0; n < 4; ++n) {
      float sum = float(n + 1);
      for (int k = 0; k < 16; ++k) {
        sum += left(lane / 4 + n / 2 * 8, k) * right(k, lane % 4 * 2 + n % 2);
      }
      y[lane] += c[n] == sum;
    }
#endif
    )",
                                            32, 32);
  CHECK(values == std::vector<int>(32, 4));
}

TEST_CASE("atomics and bits are those of CUDA") {
  const std::vector<int> values = values_of(R"(
    if (threadIdx.x == 0 && blockIdx.x == 0) {
      y[1] = __popc(0xf0f0u) + __clz(1) * 100 + __ffs(8) * 10000;
      y[2] = int(__brev(1u) >> 24) + int(__umulhi(0x80000000u, 6u)) * 1000;
      y[3] = int(__umul64hi(1ULL << 63, 10ULL)) + (max(3u, 5u) == 5u) * 10 + min(-1, 4) * 100;
      y[4] = __float_as_int(__int_as_float(0x7fc00000)) == 0x7fc00000;
      unsigned long long word = 7;
      y[5] = int(atomicCAS(&word, 7ULL, 9ULL) * 10 + atomicExch(&word, 1ULL));
      unsigned low = 8;
      y[5] += int(atomicMin(&low, 3u) * 1000 + atomicMax(&low, 5u) * 10000 + low * 100000);
    }
    atomicAdd(&y[0], 1);)",
                                            100, 6, 3);
  CHECK(values == std::vector<int>{299, 8 + 3100 + 40000, 128 + 3000, 5 + 10 - 100, 1, 538079});
}

TEST_CASE("small floats are flushed to zero, and sums are not contracted") {
  const std::vector<int> values = values_of(R"(
    const volatile float small = 1e-38f;
    y[0] = small * 0.1f == 0.0f;
    const volatile float x = 1.0f + 1.0f / 4096;
    const volatile float square = x * x;
    y[1] = x * x - square == 0.0f;
    y[2] = fmaf(x, x, -square) != 0.0f;)",
                                            1, 3);
  CHECK(values == std::vector<int>(3, 1));
}

TEST_CASE("floats of 16 bits are those of IEEE 754") {
  for (unsigned word = 0; word < 0x7C00; ++word) {
    const auto bits = static_cast<unsigned short>(word);
    const int exponent = static_cast<int>(word >> 10U);
    const auto fraction = static_cast<float>((word & 0x3FFU) + (exponent > 0 ? 1024U : 0U));
    const float number = std::ldexp(fraction, std::max(exponent, 1) - 25);
    const float next = from_float16(static_cast<unsigned short>(word + 1));
    const float middle = word == 0x7BFF ? 65520.0F : (number + next) / 2;
    const unsigned even = word + word % 2;
    const bool good = from_float16(bits) == number && to_float16(number) == bits &&
                      to_float16(std::nextafter(middle, 0.0F)) == bits &&
                      to_float16(middle) == even &&
                      to_float16(std::nextafter(middle, 1e6F)) == word + 1 &&
                      to_float16(-number) == word + 0x8000U;
    CHECK_MESSAGE(good, word);
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  CHECK(from_float16(0x7C00) == kInfinity);
  CHECK(from_float16(0xFC00) == -kInfinity);
  CHECK(to_float16(-kInfinity) == 0xFC00);
  CHECK(to_float16(1e30F) == 0x7C00);
  CHECK(to_float16(-1e-30F) == 0x8000);
  CHECK(to_float16(std::numeric_limits<float>::quiet_NaN()) == 0x7FFF);
  CHECK(std::isnan(from_float16(0xFE01)));
}

TEST_CASE("shared memory starts as garbage") {
  const std::vector<int> values = values_of(
      "__shared__ int parts[64]; y[threadIdx.x] = parts[threadIdx.x];"
      "if (y[0] == 1) parts[threadIdx.x] = 1;",
      64, 64);
  for (const int value : values) CHECK(value != 0);
}

TEST_CASE("a missing barrier is found out") {
  const std::vector<int> values = values_of(R"(
    __shared__ int parts[64];
    parts[threadIdx.x] = int(threadIdx.x);
    const int neighbour = parts[threadIdx.x ^ 1];
    if (neighbour != int(threadIdx.x ^ 1)) y[blockIdx.x] = 0;)",
                                            64, 2, 2);
  CHECK(values == std::vector<int>(2, 0));
}

TEST_CASE("arguments are those at the time of the launch") {
  start();
  const CUmodule module = compile("KERNEL(store, int* y, int value) { *y = value; }");
  const CUfunction store = kernel(module, "store");
  const Array<int> y(std::vector<int>{0});
  const CUstream stream = create_stream();
  CUdeviceptr address = y.address();
  int value = 5;
  void* arguments[] = {&address, &value};
  REQUIRE(DRIVER(cuLaunchKernel)(store, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr) ==
          CUDA_SUCCESS);
  value = 6;
  address = 0;
  REQUIRE(DRIVER(cuStreamSynchronize)(stream) == CUDA_SUCCESS);
  CHECK(y.values() == std::vector<int>{5});
}

TEST_CASE("launches that no GPU takes are refused") {
  start();
  const CUmodule module = compile("KERNEL(nothing, int n) {}");
  const CUfunction nothing = kernel(module, "nothing");
  CHECK(launch(nothing, {1}, {1024}, nullptr, 1) == CUDA_SUCCESS);
  CHECK(launch(nothing, {1}, {1025}, nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(launch(nothing, {1}, {32, 33}, nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(launch(nothing, {1}, {1, 1, 65}, nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(launch(nothing, {0}, {1}, nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(launch(nothing, {1}, {0}, nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(launch(nothing, {1, 65536}, {1}, nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(launch(nothing, {1, 1, 65536}, {1}, nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
  CUfunction missing = nullptr;
  CHECK(DRIVER(cuModuleGetFunction)(&missing, module, "something") == CUDA_ERROR_NOT_FOUND);
  CUmodule wrong = nullptr;
  const std::vector<char> no_library(1000);
  CHECK(DRIVER(cuModuleLoadData)(&wrong, no_library.data()) == CUDA_ERROR_INVALID_IMAGE);
}

/// The log of a program that does not compile.
std::string errors_of(const char* source) {
  nvrtcProgram program = nullptr;
  REQUIRE(NVRTC(nvrtcCreateProgram)(&program, source, "bad.cu", 0, nullptr, nullptr) ==
          NVRTC_SUCCESS);
  CHECK(NVRTC(nvrtcCompileProgram)(program, 0, nullptr) == NVRTC_ERROR_COMPILATION);
  std::size_t bytes = 0;
  REQUIRE(NVRTC(nvrtcGetProgramLogSize)(program, &bytes) == NVRTC_SUCCESS);
  std::string log(bytes, '\0');
  REQUIRE(NVRTC(nvrtcGetProgramLog)(program, log.data()) == NVRTC_SUCCESS);
  CHECK(NVRTC(nvrtcDestroyProgram)(&program) == NVRTC_SUCCESS);
  return log;
}

TEST_CASE("programs that do not compile say why") {
  const std::string unknown = errors_of("int first;\nint x = unknown;");
  CHECK_MESSAGE(unknown.find("bad.cu") != std::string::npos, unknown);
  const std::string shared = errors_of(
      "#ifndef KERNEL\n#define KERNEL(name, ...) extern \"C\" __global__ void name(__VA_ARGS__)\n"
      "#endif\nKERNEL(big, float* y) { __shared__ float part[12289]; part[0] = *y; *y = part[1]; "
      "}");
  CHECK_MESSAGE(shared.find("uses too much shared data") != std::string::npos, shared);
}

TEST_CASE("what is C++ and not CUDA does not compile where the real NVRTC is") {
  const char* const real = std::getenv("EMULATED_GPU_NVRTC");
  if (real == nullptr) return;
  const std::string log = errors_of(
      "int of_the_host() { return 1; }\n__device__ int of_the_device() { return of_the_host(); }");
  CHECK_MESSAGE(log.find("of_the_host") != std::string::npos, log);
}

}  // namespace
}  // namespace emulated_gpu::testing
