#include <cublasLt.h>

#include <cmath>
#include <cstring>

#include "emulated_gpu/library.h"

namespace emulated_gpu::testing {
namespace {

#define CUBLASLT(name) (*::emulated_gpu::testing::find<decltype(name)>("libcublasLt.so.13", #name))

/// op(A) [m, k] * op(B) [k, n] for matrices by columns or by rows.
struct Setup {
  int m = 5, n = 4, k = 7;
  bool transpose_a = false, transpose_b = false, by_rows = false;
  int batches = 1;
  float alpha = 1.0F, beta = 0.0F;
  cudaDataType in = CUDA_R_32F, out = CUDA_R_32F;
};

constexpr int kSpare = 3;  ///< elements between lines, and between batches

struct Shape {
  int rows, columns;
  bool by_rows;
  int leading() const { return (by_rows ? columns : rows) + kSpare; }
  int elements() const { return leading() * (by_rows ? rows : columns) + kSpare; }
  int at(int batch, int i, int j) const {
    return batch * elements() + (by_rows ? i * leading() + j : i + j * leading());
  }
};

cublasLtMatrixLayout_t layout_of(const Shape& shape, cudaDataType type, int batches) {
  cublasLtMatrixLayout_t layout = nullptr;
  REQUIRE(CUBLASLT(cublasLtMatrixLayoutCreate)(&layout, type, std::uint64_t(shape.rows),
                                               std::uint64_t(shape.columns),
                                               shape.leading()) == CUBLAS_STATUS_SUCCESS);
  const std::int32_t order = shape.by_rows ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL;
  const std::int64_t offset = shape.elements();
  const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                       std::size_t bytes) {
    REQUIRE(CUBLASLT(cublasLtMatrixLayoutSetAttribute)(layout, attribute, value, bytes) ==
            CUBLAS_STATUS_SUCCESS);
  };
  set(CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order);
  set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches, sizeof batches);
  set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &offset, sizeof offset);
  return layout;
}

std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// Elements as the device has them; small integers, which bfloat16 holds as they are.
std::vector<std::byte> packed(const std::vector<float>& values, cudaDataType type) {
  const std::size_t bytes = type == CUDA_R_16BF ? 2 : 4;
  std::vector<std::byte> result(values.size() * bytes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t bits = bits_of(values[i]) >> (type == CUDA_R_16BF ? 16U : 0U);
    std::memcpy(&result[i * bytes], &bits, bytes);
  }
  return result;
}

std::vector<float> unpacked(const std::vector<std::byte>& bytes, cudaDataType type) {
  const std::size_t size = type == CUDA_R_16BF ? 2 : 4;
  std::vector<float> result(bytes.size() / size);
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &bytes[i * size], size);
    bits <<= type == CUDA_R_16BF ? 16U : 0U;
    std::memcpy(&result[i], &bits, sizeof bits);
  }
  return result;
}

std::vector<float> numbers(int count, int step) {
  std::vector<float> result;
  for (int i = 0; i < count; ++i) result.push_back(static_cast<float>(i * step % 11 - 5));
  return result;
}

void check_product(const Setup& setup) {
  const auto turned = [&](int rows, int columns, bool turn) {
    return turn ? Shape{columns, rows, setup.by_rows} : Shape{rows, columns, setup.by_rows};
  };
  const Shape a = turned(setup.m, setup.k, setup.transpose_a);
  const Shape b = turned(setup.k, setup.n, setup.transpose_b);
  const Shape d = turned(setup.m, setup.n, false);
  const std::vector<float> left = numbers(a.elements() * setup.batches, 3);
  const std::vector<float> right = numbers(b.elements() * setup.batches, 7);
  const std::vector<float> before = numbers(d.elements() * setup.batches, 5);
  const Array<std::byte> a_data(packed(left, setup.in));
  const Array<std::byte> b_data(packed(right, setup.in));
  const Array<std::byte> d_data(packed(before, setup.out));

  cublasLtHandle_t handle = nullptr;
  REQUIRE(CUBLASLT(cublasLtCreate)(&handle) == CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulDesc_t operation = nullptr;
  REQUIRE(CUBLASLT(cublasLtMatmulDescCreate)(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F) ==
          CUBLAS_STATUS_SUCCESS);
  const std::int32_t op_a = setup.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  const std::int32_t op_b = setup.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  REQUIRE(CUBLASLT(cublasLtMatmulDescSetAttribute)(operation, CUBLASLT_MATMUL_DESC_TRANSA, &op_a,
                                                   sizeof op_a) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(CUBLASLT(cublasLtMatmulDescSetAttribute)(operation, CUBLASLT_MATMUL_DESC_TRANSB, &op_b,
                                                   sizeof op_b) == CUBLAS_STATUS_SUCCESS);
  const cublasLtMatrixLayout_t a_layout = layout_of(a, setup.in, setup.batches);
  const cublasLtMatrixLayout_t b_layout = layout_of(b, setup.in, setup.batches);
  const cublasLtMatrixLayout_t d_layout = layout_of(d, setup.out, setup.batches);
  cublasLtMatmulPreference_t preference = nullptr;
  REQUIRE(CUBLASLT(cublasLtMatmulPreferenceCreate)(&preference) == CUBLAS_STATUS_SUCCESS);
  const std::uint64_t most = 1 << 16;
  REQUIRE(CUBLASLT(cublasLtMatmulPreferenceSetAttribute)(
              preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most) ==
          CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulHeuristicResult_t found = {};
  int count = 0;
  REQUIRE(CUBLASLT(cublasLtMatmulAlgoGetHeuristic)(handle, operation, a_layout, b_layout, d_layout,
                                                   d_layout, preference, 1, &found,
                                                   &count) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(count == 1);
  REQUIRE(found.workspaceSize <= most);
  const Array<std::byte> workspace(most);
  const auto pointer = [](const Array<std::byte>& array) {
    return reinterpret_cast<void*>(array.address());
  };
  REQUIRE(CUBLASLT(cublasLtMatmul)(handle, operation, &setup.alpha, pointer(a_data), a_layout,
                                   pointer(b_data), b_layout, &setup.beta, pointer(d_data),
                                   d_layout, pointer(d_data), d_layout, &found.algo,
                                   pointer(workspace), most, nullptr) == CUBLAS_STATUS_SUCCESS);

  std::vector<float> expected = before;
  for (int batch = 0; batch < setup.batches; ++batch) {
    for (int i = 0; i < setup.m; ++i) {
      for (int j = 0; j < setup.n; ++j) {
        float sum = 0.0F;
        for (int k = 0; k < setup.k; ++k) {
          sum += left[std::size_t(setup.transpose_a ? a.at(batch, k, i) : a.at(batch, i, k))] *
                 right[std::size_t(setup.transpose_b ? b.at(batch, j, k) : b.at(batch, k, j))];
        }
        float& element = expected[std::size_t(d.at(batch, i, j))];
        element = setup.alpha * sum + setup.beta * element;
      }
    }
  }
  CHECK(unpacked(d_data.values(), setup.out) == expected);

  CUBLASLT(cublasLtMatmulPreferenceDestroy)(preference);
  for (const cublasLtMatrixLayout_t layout : {a_layout, b_layout, d_layout}) {
    CUBLASLT(cublasLtMatrixLayoutDestroy)(layout);
  }
  CUBLASLT(cublasLtMatmulDescDestroy)(operation);
  CHECK(CUBLASLT(cublasLtDestroy)(handle) == CUBLAS_STATUS_SUCCESS);
}

TEST_CASE("a product is that of plain loops") {
  start();
  for (int bits = 0; bits < 16; ++bits) {
    CAPTURE(bits);
    Setup setup;
    setup.transpose_a = (bits & 1) != 0;
    setup.transpose_b = (bits & 2) != 0;
    setup.by_rows = (bits & 4) != 0;
    setup.batches = (bits & 8) != 0 ? 3 : 1;
    check_product(setup);
    setup.alpha = 2.0F;
    setup.beta = -1.0F;
    check_product(setup);
    setup.in = CUDA_R_16BF;
    check_product(setup);
  }
}

TEST_CASE("a product in bfloat16 is rounded to the nearest") {
  start();
  Setup setup;
  setup.k = 1;
  setup.in = setup.out = CUDA_R_16BF;
  check_product(setup);
}

TEST_CASE("products that do not fit are refused") {
  start();
  const auto create = [](std::uint64_t rows, std::uint64_t columns, std::int64_t leading) {
    cublasLtMatrixLayout_t layout = nullptr;
    REQUIRE(CUBLASLT(cublasLtMatrixLayoutCreate)(&layout, CUDA_R_32F, rows, columns, leading) ==
            CUBLAS_STATUS_SUCCESS);
    at_end([destroy = &CUBLASLT(cublasLtMatrixLayoutDestroy), layout] { destroy(layout); });
    return layout;
  };
  cublasLtHandle_t handle = nullptr;
  REQUIRE(CUBLASLT(cublasLtCreate)(&handle) == CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulDesc_t operation = nullptr;
  REQUIRE(CUBLASLT(cublasLtMatmulDescCreate)(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F) ==
          CUBLAS_STATUS_SUCCESS);
  at_end([destroy = &CUBLASLT(cublasLtDestroy), handle] { destroy(handle); });
  at_end([destroy = &CUBLASLT(cublasLtMatmulDescDestroy), operation] { destroy(operation); });
  const Array<float> data(100);
  void* const memory = reinterpret_cast<void*>(data.address());
  const float one = 1.0F;
  const auto multiply = [&](cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                            cublasLtMatrixLayout_t d, void* from) {
    return CUBLASLT(cublasLtMatmul)(handle, operation, &one, from, a, memory, b, &one, memory, d,
                                    memory, d, nullptr, nullptr, 0, nullptr);
  };
  const cublasLtMatrixLayout_t square = create(4, 4, 4);
  CHECK(multiply(square, square, square, memory) == CUBLAS_STATUS_SUCCESS);
  CHECK(multiply(square, square, square, nullptr) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(multiply(create(4, 4, 3), square, square, memory) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(multiply(create(4, 5, 4), square, square, memory) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(multiply(square, square, create(5, 4, 5), memory) == CUBLAS_STATUS_INVALID_VALUE);
  const std::int64_t wide = 0;
  CHECK(CUBLASLT(cublasLtMatmulDescSetAttribute)(operation, CUBLASLT_MATMUL_DESC_TRANSA, &wide,
                                                 sizeof wide) == CUBLAS_STATUS_INVALID_VALUE);
}

}  // namespace
}  // namespace emulated_gpu::testing
