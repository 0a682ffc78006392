#pragma once

#include <cublasLt.h>

#include <cstdint>

namespace emulated_gpu {

// What the opaque descriptors of cublasLt.h hold.

struct Layout {
  std::uint32_t type = CUDA_R_32F;
  std::int32_t order = CUBLASLT_ORDER_COL;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0;  ///< elements from a column, or a row, to the next
  std::int64_t batch_offset = 0;
  std::int32_t batches = 1;
};

struct Operation {
  std::int32_t compute_type = CUBLAS_COMPUTE_32F;
  std::int32_t scale_type = CUDA_R_32F;
  std::int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  std::int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N, transpose_c = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  std::int32_t bias_type = -1;  ///< as D where it is -1
  std::int64_t bias_offset = 0;
  const void* bias = nullptr;
  std::int8_t fast_accumulation = 0;
};

/// Alignments in bytes.
struct Preference {
  std::uint64_t workspace = 0;
  std::uint32_t search_mode = 0, reduction_schemes = ~0U;
  std::uint32_t alignment_a = 256, alignment_b = 256, alignment_c = 256, alignment_d = 256;
};

inline Layout& of(cublasLtMatrixLayout_t layout) { return *reinterpret_cast<Layout*>(layout); }
inline Operation& of(cublasLtMatmulDesc_t operation) {
  return *reinterpret_cast<Operation*>(operation);
}
inline Preference& of(cublasLtMatmulPreference_t preference) {
  return *reinterpret_cast<Preference*>(preference);
}

}  // namespace emulated_gpu
