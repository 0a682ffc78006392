// The emulated cuBLASLt: products of matrices in the order of the driver's streams.
#include <cublasLt.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "emulated_gpu/context.h"
#include "emulated_gpu/cublaslt_algorithms.h"
#include "emulated_gpu/cublaslt_descriptors.h"
#include "emulated_gpu/gemm.h"
#include "emulated_gpu/memory.h"
#include "emulated_gpu/region.h"
#include "emulated_gpu/settings.h"

struct cublasLtContext {
  emulated_gpu::Context* context = nullptr;
};

namespace {

using emulated_gpu::Algorithm;
using emulated_gpu::is_device_memory;
using emulated_gpu::Layout;
using emulated_gpu::Matrix;
using emulated_gpu::Number;
using emulated_gpu::of;
using emulated_gpu::Operation;
using emulated_gpu::Preference;
using emulated_gpu::Product;

struct Layouts {
  const Layout *a, *b, *c, *d;
};

bool is_narrow(std::uint32_t type) { return type == CUDA_R_16BF || type == CUDA_R_16F; }

Number number_of(const Layout& layout) {
  if (!is_narrow(layout.type)) return Number::kFloat32;
  return layout.type == CUDA_R_16F ? Number::kFloat16 : Number::kBFloat16;
}

std::int64_t element_bytes(const Layout& layout) { return bytes_of(number_of(layout)); }

bool is_good(const Layout& layout) {
  if (layout.rows == 0 || layout.columns == 0 || layout.batches < 1) return false;
  if (layout.order != CUBLASLT_ORDER_COL && layout.order != CUBLASLT_ORDER_ROW) return false;
  const std::uint64_t line = layout.order == CUBLASLT_ORDER_COL ? layout.rows : layout.columns;
  return layout.leading >= static_cast<std::int64_t>(line);
}

/// The matrix that the operation sees, with sizes after a transposition.
struct Seen {
  std::int64_t rows, columns;
  Matrix matrix;
};

Seen see(const Layout& layout, const void* data, bool transpose) {
  const bool by_columns = layout.order == CUBLASLT_ORDER_COL;
  Seen result = {
      static_cast<std::int64_t>(layout.rows),
      static_cast<std::int64_t>(layout.columns),
      {data, number_of(layout), by_columns ? 1 : layout.leading, by_columns ? layout.leading : 1}};
  if (transpose) {
    std::swap(result.rows, result.columns);
    std::swap(result.matrix.row, result.matrix.column);
  }
  return result;
}

cublasStatus_t check_types(const Operation& operation, const Layouts& layouts) {
  const bool tensor_float32 = operation.compute_type == CUBLAS_COMPUTE_32F_FAST_TF32;
  const bool pedantic = operation.compute_type == CUBLAS_COMPUTE_32F_PEDANTIC;
  if (!pedantic && !tensor_float32 && operation.compute_type != CUBLAS_COMPUTE_32F) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (operation.scale_type != CUDA_R_32F || operation.transpose_c != CUBLAS_OP_N ||
      operation.pointer_mode != CUBLASLT_POINTER_MODE_HOST) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const std::uint32_t in = layouts.a->type;
  const std::uint32_t out = layouts.d->type;
  const bool floats = in == CUDA_R_32F && out == CUDA_R_32F;
  if (in == CUDA_R_16BF && emulated_gpu::settings().major < 8) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (tensor_float32 && !floats) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool narrow = is_narrow(in) && (out == CUDA_R_32F || out == in);
  if (layouts.b->type != in || layouts.c->type != out || (!floats && !narrow)) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  switch (operation.epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
      break;
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const auto bias_type = static_cast<std::uint32_t>(operation.bias_type);
  const bool as_output = operation.bias_type < 0 || bias_type == out;
  // Heuristics look at where the bias is, too.
  constexpr std::uintptr_t kBiasAlignment = 16;
  if (reinterpret_cast<std::uintptr_t>(operation.bias) % kBiasAlignment != 0) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return as_output ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t check_shapes(const Operation& operation, const Layouts& layouts) {
  for (const Layout* const layout : {layouts.a, layouts.b, layouts.c, layouts.d}) {
    if (!is_good(*layout) || layout->batches != layouts.d->batches) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
  }
  const Seen a = see(*layouts.a, nullptr, operation.transpose_a != CUBLAS_OP_N);
  const Seen b = see(*layouts.b, nullptr, operation.transpose_b != CUBLAS_OP_N);
  const Seen c = see(*layouts.c, nullptr, false);
  const Seen d = see(*layouts.d, nullptr, false);
  const bool fit = a.columns == b.rows && a.rows == d.rows && b.columns == d.columns &&
                   c.rows == d.rows && c.columns == d.columns;
  return fit ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t check(const Operation& operation, const Layouts& layouts) {
  const cublasStatus_t status = check_types(operation, layouts);
  return status == CUBLAS_STATUS_SUCCESS ? check_shapes(operation, layouts) : status;
}

bool is_aligned(const void* data, std::uint32_t bytes) {
  return bytes == 0 || reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
}

/// Whether all batches of a matrix lie in one allocation.
bool is_reachable(const Layout& layout, const void* data) {
  const bool by_columns = layout.order == CUBLASLT_ORDER_COL;
  const auto lines = static_cast<std::int64_t>(by_columns ? layout.columns : layout.rows);
  const auto line = static_cast<std::int64_t>(by_columns ? layout.rows : layout.columns);
  const std::int64_t last =
      (lines - 1) * layout.leading + line + std::int64_t{layout.batches - 1} * layout.batch_offset;
  return is_device_memory(reinterpret_cast<CUdeviceptr>(data),
                          static_cast<std::size_t>(last * element_bytes(layout)));
}

/// The products of all batches. The workspace is garbage afterwards.
struct Work {
  Product first;
  Layout a, b, c, d;
  std::int64_t bias_offset = 0;
  void* workspace = nullptr;
  Algorithm algorithm = {};

  CUresult operator()() const {
    algorithm.take_time();
    const bool reads_c = first.beta != 0.0F;
    if (!is_reachable(a, first.a.data) || !is_reachable(b, first.b.data) ||
        !is_reachable(d, first.d.data) || (reads_c && !is_reachable(c, first.c.data))) {
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    const emulated_gpu::Access access;
    if (algorithm.workspace > 0) std::memset(workspace, 0xCD, algorithm.workspace);
    for (std::int64_t i = 0; i < d.batches; ++i) {
      Product product = first;
      product.split = algorithm.split(product.k);
      product.a = first.a.at(i * a.batch_offset);
      product.b = first.b.at(i * b.batch_offset);
      if (reads_c) product.c = first.c.at(i * c.batch_offset);
      product.d = first.d.at(i * d.batch_offset);
      if (first.bias.data != nullptr) product.bias = first.bias.at(i * bias_offset);
      emulated_gpu::multiply(product);
    }
    return CUDA_SUCCESS;
  }
};

/// The algorithm that the caller has chosen, or one without a workspace.
Algorithm algorithm_of(const cublasLtMatmulAlgo_t* chosen, const Layouts& layouts) {
  Preference preference;
  preference.alignment_a = preference.alignment_b =
      static_cast<std::uint32_t>(element_bytes(*layouts.a));
  preference.alignment_c = preference.alignment_d =
      static_cast<std::uint32_t>(element_bytes(*layouts.d));
  Algorithm result = emulated_gpu::algorithm_for(preference, Algorithm::Kind::kInOrder);
  if (chosen != nullptr) std::memcpy(&result, chosen, sizeof result);
  return result;
}

struct Operands {
  const void *a, *b, *c;
  void* d;
};

bool computes(const Algorithm& algorithm) {
  return algorithm.kind != Algorithm::Kind::kRefused && algorithm.kind != Algorithm::Kind::kUnable;
}

cublasStatus_t check_pointers(const Algorithm& algorithm, const Operands& operands,
                              const void* workspace, std::size_t workspace_bytes) {
  if (!algorithm.is_one() || algorithm.workspace > workspace_bytes) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (!computes(algorithm)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (algorithm.workspace > 0 && (workspace == nullptr || !is_aligned(workspace, 16))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool aligned = is_aligned(operands.a, algorithm.alignment_a) &&
                       is_aligned(operands.b, algorithm.alignment_b) &&
                       is_aligned(operands.c, algorithm.alignment_c) &&
                       is_aligned(operands.d, algorithm.alignment_d);
  return aligned ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

Product product_of(const Operation& operation, const Layouts& layouts, const Operands& operands) {
  const Seen left = see(*layouts.a, operands.a, operation.transpose_a != CUBLAS_OP_N);
  const Seen right = see(*layouts.b, operands.b, operation.transpose_b != CUBLAS_OP_N);
  Product result;
  result.m = left.rows, result.n = right.columns, result.k = left.columns;
  result.tensor_float32 = operation.compute_type == CUBLAS_COMPUTE_32F_FAST_TF32;
  result.a = left.matrix;
  result.b = right.matrix;
  result.c = see(*layouts.c, operands.c, false).matrix;
  result.d = see(*layouts.d, operands.d, false).matrix;
  result.relu = (operation.epilogue & CUBLASLT_EPILOGUE_RELU) != 0;
  if ((operation.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) {
    result.bias = {operation.bias, result.d.number, 1, 0};
  }
  return result;
}

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (emulated_gpu::check_context() != CUDA_SUCCESS) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new (std::nothrow) cublasLtContext{emulated_gpu::current_context()};
  return *handle == nullptr ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

std::size_t cublasLtGetVersion() { return CUBLAS_VERSION; }

const char* cublasLtGetStatusName(cublasStatus_t status) {
#define CASE(name) \
  case name:       \
    return #name
  switch (status) {
    CASE(CUBLAS_STATUS_SUCCESS);
    CASE(CUBLAS_STATUS_NOT_INITIALIZED);
    CASE(CUBLAS_STATUS_ALLOC_FAILED);
    CASE(CUBLAS_STATUS_INVALID_VALUE);
    CASE(CUBLAS_STATUS_ARCH_MISMATCH);
    CASE(CUBLAS_STATUS_MAPPING_ERROR);
    CASE(CUBLAS_STATUS_EXECUTION_FAILED);
    CASE(CUBLAS_STATUS_INTERNAL_ERROR);
    CASE(CUBLAS_STATUS_NOT_SUPPORTED);
    CASE(CUBLAS_STATUS_LICENSE_ERROR);
  }
#undef CASE
  return "CUBLAS_STATUS_UNKNOWN";
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the function failed to launch on the GPU";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "the functionality requested is not supported";
    default:
      return "an internal operation failed";
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle,
                                              cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* count) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (operation == nullptr || a == nullptr || b == nullptr || c == nullptr || d == nullptr ||
      preference == nullptr || requested <= 0 || results == nullptr || count == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *count = 0;
  const cublasStatus_t status = check(of(operation), {&of(a), &of(b), &of(c), &of(d)});
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  for (const Algorithm& algorithm : emulated_gpu::algorithms_for(of(preference))) {
    if (*count == requested) break;
    cublasLtMatmulHeuristicResult_t& result = results[(*count)++];
    result = {};
    std::memcpy(&result.algo, &algorithm, sizeof algorithm);
    result.workspaceSize = algorithm.workspace;
    result.state = algorithm.kind == Algorithm::Kind::kRefused ? CUBLAS_STATUS_NOT_SUPPORTED
                                                               : CUBLAS_STATUS_SUCCESS;
    result.wavesCount = 1.0F;
  }
  return *count > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* chosen,
                                       cublasLtMatmulHeuristicResult_t* result) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (operation == nullptr || a == nullptr || b == nullptr || c == nullptr || d == nullptr ||
      chosen == nullptr || result == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const Layouts layouts = {&of(a), &of(b), &of(c), &of(d)};
  const cublasStatus_t status = check(of(operation), layouts);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const Algorithm algorithm = algorithm_of(chosen, layouts);
  if (!algorithm.is_one()) return CUBLAS_STATUS_INVALID_VALUE;
  *result = {};
  result->algo = *chosen;
  result->workspaceSize = algorithm.workspace;
  result->state = computes(algorithm) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
  return result->state;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* chosen,
                              void* workspace, std::size_t workspace_bytes, cudaStream_t stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (descriptor == nullptr || alpha == nullptr || beta == nullptr || a == nullptr ||
      b == nullptr || d == nullptr || a_layout == nullptr || b_layout == nullptr ||
      c_layout == nullptr || d_layout == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const Operation& operation = of(descriptor);
  Work work;
  work.a = of(a_layout), work.b = of(b_layout), work.c = of(c_layout), work.d = of(d_layout);
  const Layouts layouts = {&work.a, &work.b, &work.c, &work.d};
  const Operands operands = {a, b, c, d};
  cublasStatus_t status = check(operation, layouts);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const Algorithm algorithm = algorithm_of(chosen, layouts);
  status = check_pointers(algorithm, operands, workspace, workspace_bytes);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const bool has_bias = (operation.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
  if (has_bias && operation.bias == nullptr) return CUBLAS_STATUS_INVALID_VALUE;

  work.first = product_of(operation, layouts, operands);
  std::memcpy(&work.first.alpha, alpha, sizeof work.first.alpha);
  std::memcpy(&work.first.beta, beta, sizeof work.first.beta);
  if (c == nullptr && work.first.beta != 0.0F) return CUBLAS_STATUS_INVALID_VALUE;
  work.bias_offset = operation.bias_offset;
  work.workspace = workspace;
  work.algorithm = algorithm;
  if (emulated_gpu::check_context() != CUDA_SUCCESS ||
      emulated_gpu::current_context() != handle->context) {
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  const CUresult result = emulated_gpu::enqueue(stream, work);
  return result == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
