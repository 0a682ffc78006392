#include "emulated_gpu/library.h"

#include <numeric>

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

}  // namespace
}  // namespace emulated_gpu::testing
