#include <cublasLt.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "emulated_gpu/library.h"
#include "emulated_gpu/narrow_floats.h"

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
  bool bias = false, relu = false;
  int launches = 0;  ///< of a graph; 0: none is captured
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
  at_end([destroy = &CUBLASLT(cublasLtMatrixLayoutDestroy), layout] { destroy(layout); });
  return layout;
}

/// Elements as the device has them.
std::vector<std::byte> packed(const std::vector<float>& values, cudaDataType type) {
  const std::size_t bytes = type == CUDA_R_32F ? 4 : 2;
  std::vector<std::byte> result(values.size() * bytes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t narrow =
        type == CUDA_R_16F ? to_float16(values[i]) : to_bfloat16(values[i]);
    const void* const from = type == CUDA_R_32F ? static_cast<const void*>(&values[i]) : &narrow;
    std::memcpy(&result[i * bytes], from, bytes);
  }
  return result;
}

std::vector<float> unpacked(const std::vector<std::byte>& bytes, cudaDataType type) {
  const std::size_t size = type == CUDA_R_32F ? 4 : 2;
  std::vector<float> result(bytes.size() / size);
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::uint16_t narrow = 0;
    std::memcpy(type == CUDA_R_32F ? static_cast<void*>(&result[i]) : &narrow, &bytes[i * size],
                size);
    if (type == CUDA_R_16F) result[i] = from_float16(narrow);
    if (type == CUDA_R_16BF) result[i] = from_bfloat16(narrow);
  }
  return result;
}

/// What a matrix of the type holds of a number that is neither large nor small.
float held(float value, cudaDataType type) {
  if (type == CUDA_R_32F || value == 0.0F) return value;
  const int digits = type == CUDA_R_16F ? 11 : 8;
  int exponent = 0;
  const float fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, digits)), exponent - digits);
}

std::vector<float> numbers(int count, int step) {
  std::vector<float> result;
  for (int i = 0; i < count; ++i) result.push_back(static_cast<float>(i * step % 11 - 5));
  return result;
}

void launch_captured(CUstream stream, int launches) {
  CUgraph graph = nullptr;
  REQUIRE(DRIVER(cuStreamEndCapture)(stream, &graph) == CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  REQUIRE(DRIVER(cuGraphInstantiate)(&executable, graph, 0) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuGraphDestroy)(graph) == CUDA_SUCCESS);
  for (int i = 0; i < launches; ++i) {
    REQUIRE(DRIVER(cuGraphLaunch)(executable, stream) == CUDA_SUCCESS);
  }
  REQUIRE(DRIVER(cuGraphExecDestroy)(executable) == CUDA_SUCCESS);
}

void* pointer(const Array<std::byte>& array) { return reinterpret_cast<void*>(array.address()); }

/// The matrices of a setup on the host; D as it is before.
struct Operands {
  explicit Operands(const Setup& setup)
      : a(setup.transpose_a ? Shape{setup.k, setup.m, setup.by_rows}
                            : Shape{setup.m, setup.k, setup.by_rows}),
        b(setup.transpose_b ? Shape{setup.n, setup.k, setup.by_rows}
                            : Shape{setup.k, setup.n, setup.by_rows}),
        d{setup.m, setup.n, setup.by_rows},
        left(numbers(a.elements() * setup.batches, 3)),
        right(numbers(b.elements() * setup.batches, 7)),
        before(numbers(d.elements() * setup.batches, 5)),
        bias(numbers(setup.m, 9)) {}

  Shape a, b, d;
  std::vector<float> left, right, before, bias;
};

float element_of(const Setup& setup, const Operands& operands, int batch, int i, int j, float old) {
  float sum = 0.0F;
  for (int k = 0; k < setup.k; ++k) {
    const int a = setup.transpose_a ? operands.a.at(batch, k, i) : operands.a.at(batch, i, k);
    const int b = setup.transpose_b ? operands.b.at(batch, j, k) : operands.b.at(batch, k, j);
    sum += operands.left[std::size_t(a)] * operands.right[std::size_t(b)];
  }
  float value = setup.alpha * sum + setup.beta * old;
  if (setup.bias) value += operands.bias[std::size_t(i)];
  return held(setup.relu ? std::max(value, 0.0F) : value, setup.out);
}

std::vector<float> expected_of(const Setup& setup, const Operands& operands) {
  std::vector<float> result = operands.before;
  for (int launch = 0; launch < std::max(setup.launches, 1); ++launch) {
    for (int batch = 0; batch < setup.batches; ++batch) {
      for (int i = 0; i < setup.m; ++i) {
        for (int j = 0; j < setup.n; ++j) {
          float& value = result[std::size_t(operands.d.at(batch, i, j))];
          value = element_of(setup, operands, batch, i, j, value);
        }
      }
    }
  }
  return result;
}

cublasLtMatmulDesc_t operation_of(const Setup& setup, const void* bias) {
  cublasLtMatmulDesc_t operation = nullptr;
  REQUIRE(CUBLASLT(cublasLtMatmulDescCreate)(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F) ==
          CUBLAS_STATUS_SUCCESS);
  at_end([destroy = &CUBLASLT(cublasLtMatmulDescDestroy), operation] { destroy(operation); });
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    REQUIRE(CUBLASLT(cublasLtMatmulDescSetAttribute)(operation, attribute, &value, sizeof value) ==
            CUBLAS_STATUS_SUCCESS);
  };
  const std::int32_t transpose = CUBLAS_OP_T;
  if (setup.transpose_a) set(CUBLASLT_MATMUL_DESC_TRANSA, transpose);
  if (setup.transpose_b) set(CUBLASLT_MATMUL_DESC_TRANSB, transpose);
  const std::uint32_t epilogue = setup.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  if (setup.bias) set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  if (setup.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  return operation;
}

constexpr std::uint64_t kWorkspace = 1 << 16;

/// What heuristics name first to those who want sums in one order.
std::vector<cublasLtMatmulHeuristicResult_t> algorithms_for(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t d, int most,
    std::uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) {
  cublasLtMatmulPreference_t preference = nullptr;
  REQUIRE(CUBLASLT(cublasLtMatmulPreferenceCreate)(&preference) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(CUBLASLT(cublasLtMatmulPreferenceSetAttribute)(
              preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace,
              sizeof kWorkspace) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(CUBLASLT(cublasLtMatmulPreferenceSetAttribute)(
              preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes) ==
          CUBLAS_STATUS_SUCCESS);
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(most));
  int count = 0;
  REQUIRE(CUBLASLT(cublasLtMatmulAlgoGetHeuristic)(handle, operation, a, b, d, d, preference, most,
                                                   found.data(), &count) == CUBLAS_STATUS_SUCCESS);
  CHECK(CUBLASLT(cublasLtMatmulPreferenceDestroy)(preference) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(count > 0);
  REQUIRE(count <= most);
  found.resize(static_cast<std::size_t>(count));
  for (const auto& result : found) REQUIRE(result.workspaceSize <= kWorkspace);
  return found;
}

cublasLtHandle_t create_handle() {
  cublasLtHandle_t handle = nullptr;
  REQUIRE(CUBLASLT(cublasLtCreate)(&handle) == CUBLAS_STATUS_SUCCESS);
  at_end([destroy = &CUBLASLT(cublasLtDestroy), handle] { destroy(handle); });
  return handle;
}

void check_product(const Setup& setup) {
  const Operands operands(setup);
  const Array<std::byte> a(packed(operands.left, setup.in));
  const Array<std::byte> b(packed(operands.right, setup.in));
  const Array<std::byte> d(packed(operands.before, setup.out));
  const Array<std::byte> bias(packed(operands.bias, setup.out));
  const Array<std::byte> workspace(kWorkspace);
  const cublasLtHandle_t handle = create_handle();
  const cublasLtMatmulDesc_t operation = operation_of(setup, pointer(bias));
  const cublasLtMatrixLayout_t a_layout = layout_of(operands.a, setup.in, setup.batches);
  const cublasLtMatrixLayout_t b_layout = layout_of(operands.b, setup.in, setup.batches);
  const cublasLtMatrixLayout_t d_layout = layout_of(operands.d, setup.out, setup.batches);
  const cublasLtMatmulAlgo_t algorithm =
      algorithms_for(handle, operation, a_layout, b_layout, d_layout, 1).at(0).algo;
  const CUstream stream = create_stream();
  if (setup.launches > 0) {
    REQUIRE(DRIVER(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
  }
  REQUIRE(CUBLASLT(cublasLtMatmul)(handle, operation, &setup.alpha, pointer(a), a_layout,
                                   pointer(b), b_layout, &setup.beta, pointer(d), d_layout,
                                   pointer(d), d_layout, &algorithm, pointer(workspace), kWorkspace,
                                   stream) == CUBLAS_STATUS_SUCCESS);
  if (setup.launches > 0) launch_captured(stream, setup.launches);
  REQUIRE(DRIVER(cuStreamSynchronize)(stream) == CUDA_SUCCESS);
  CHECK(unpacked(d.values(), setup.out) == expected_of(setup, operands));
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
    for (const cudaDataType narrow : {CUDA_R_16BF, CUDA_R_16F}) {
      setup.in = narrow;
      check_product(setup);
    }
  }
}

TEST_CASE("a product in floats of 16 bits is rounded to the nearest, ties to even") {
  start();
  Setup setup;
  setup.k = 40;
  for (const cudaDataType narrow : {CUDA_R_16BF, CUDA_R_16F}) {
    setup.in = setup.out = narrow;
    for (const float alpha : {1.0F, 1.0009765625F, 1.00390625F, 1.01171875F, 1.0078F, 3.1F}) {
      setup.alpha = alpha;
      check_product(setup);
    }
  }
}

TEST_CASE("an epilogue adds a bias to every column, and cuts off what is negative") {
  start();
  Setup setup;
  setup.bias = true;
  check_product(setup);
  setup.relu = true;
  setup.in = CUDA_R_16BF;
  check_product(setup);
  setup.in = setup.out = CUDA_R_16F;
  check_product(setup);
}

TEST_CASE("a captured product is computed at every launch of the graph") {
  start();
  Setup setup;
  setup.beta = 1.0F;
  setup.launches = 3;
  check_product(setup);
}

cublasLtMatrixLayout_t create(std::uint64_t rows, std::uint64_t columns, std::int64_t leading) {
  cublasLtMatrixLayout_t layout = nullptr;
  REQUIRE(CUBLASLT(cublasLtMatrixLayoutCreate)(&layout, CUDA_R_32F, rows, columns, leading) ==
          CUBLAS_STATUS_SUCCESS);
  at_end([destroy = &CUBLASLT(cublasLtMatrixLayoutDestroy), layout] { destroy(layout); });
  return layout;
}

/// 1e8 + 1 - 1e8 + 1 by an algorithm, one product after the other in float32; or what it is refused
/// for.
std::pair<cublasStatus_t, float> sum_by(const cublasLtMatmulAlgo_t& algorithm) {
  const Array<float> a(std::vector<float>{1e8F, 1, -1e8F, 1});
  const Array<float> b(std::vector<float>{1, 1, 1, 1}), d(1);
  const Array<std::byte> workspace(kWorkspace);
  const auto at = [](const auto& array) { return reinterpret_cast<void*>(array.address()); };
  const float one = 1.0F, zero = 0.0F;
  const cublasLtHandle_t handle = create_handle();
  const cublasLtMatmulDesc_t operation = operation_of(Setup(), nullptr);
  const cublasLtMatrixLayout_t row = create(1, 4, 1), column = create(4, 1, 4);
  const cublasLtMatrixLayout_t number = create(1, 1, 1);
  cublasLtMatmulHeuristicResult_t checked = {};
  const cublasStatus_t known = CUBLASLT(cublasLtMatmulAlgoCheck)(
      handle, operation, row, column, number, number, &algorithm, &checked);
  const CUstream stream = create_stream();
  const cublasStatus_t status = CUBLASLT(cublasLtMatmul)(
      handle, operation, &one, at(a), row, at(b), column, &zero, at(d), number, at(d), number,
      &algorithm, at(workspace), kWorkspace, stream);
  CHECK(status == known);
  REQUIRE(DRIVER(cuStreamSynchronize)(stream) == CUDA_SUCCESS);
  return {status, d.values()[0]};
}

TEST_CASE("heuristics name algorithms of several orders of sums, and some that compute nothing") {
  start();
  const auto named = [](std::uint32_t schemes) {
    return algorithms_for(create_handle(), operation_of(Setup(), nullptr), create(1, 4, 1),
                          create(4, 1, 4), create(1, 1, 1), 16, schemes);
  };
  const auto in_order = named(CUBLASLT_REDUCTION_SCHEME_NONE);
  const auto in_parts = named(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  CHECK(in_parts.size() == in_order.size() + 1);
  std::multiset<float> sums;
  int refused = 0, unable = 0;
  for (const auto& result : in_parts) {
    const auto [status, sum] = sum_by(result.algo);
    if (result.state != CUBLAS_STATUS_SUCCESS) {
      ++refused;
      CHECK(status == result.state);
    } else if (status != CUBLAS_STATUS_SUCCESS) {
      ++unable;
    } else {
      sums.insert(sum);
    }
  }
  CHECK(refused == 1);
  CHECK(unable == 1);
  CHECK(sums == std::multiset<float>{0, 1, 1});  // (1e8 + 1) + (-1e8 + 1) is 0
  CHECK(sum_by({}).first == CUBLAS_STATUS_INVALID_VALUE);
}

TEST_CASE("an algorithm that adds up where the result stands gives other bits each time") {
  start();
  const auto named =
      algorithms_for(create_handle(), operation_of(Setup(), nullptr), create(1, 4, 1),
                     create(4, 1, 4), create(1, 1, 1), 2, CUBLASLT_REDUCTION_SCHEME_INPLACE);
  std::set<float> sums;
  for (int i = 0; i < 8; ++i) sums.insert(sum_by(named.at(1).algo).second);
  CHECK(sums.size() > 1);
}

TEST_CASE("products that do not fit are refused") {
  start();
  const cublasLtHandle_t handle = create_handle();
  const cublasLtMatmulDesc_t operation = operation_of(Setup(), nullptr);
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
