#include "emulated_gpu/cublaslt_descriptors.h"

#include <cstring>
#include <map>
#include <new>

namespace {

using emulated_gpu::Layout;
using emulated_gpu::of;
using emulated_gpu::Operation;
using emulated_gpu::Preference;

struct Field {
  std::size_t offset, bytes;
};
using Fields = std::map<int, Field>;

#define FIELD(attribute, type, member)                          \
  {                                                             \
    attribute, { offsetof(type, member), sizeof(type::member) } \
  }

const Fields& layout_fields() {
  static const Fields fields = {
      FIELD(CUBLASLT_MATRIX_LAYOUT_TYPE, Layout, type),
      FIELD(CUBLASLT_MATRIX_LAYOUT_ORDER, Layout, order),
      FIELD(CUBLASLT_MATRIX_LAYOUT_ROWS, Layout, rows),
      FIELD(CUBLASLT_MATRIX_LAYOUT_COLS, Layout, columns),
      FIELD(CUBLASLT_MATRIX_LAYOUT_LD, Layout, leading),
      FIELD(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, Layout, batches),
      FIELD(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, Layout, batch_offset),
  };
  return fields;
}

const Fields& operation_fields() {
  static const Fields fields = {
      FIELD(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, Operation, compute_type),
      FIELD(CUBLASLT_MATMUL_DESC_SCALE_TYPE, Operation, scale_type),
      FIELD(CUBLASLT_MATMUL_DESC_POINTER_MODE, Operation, pointer_mode),
      FIELD(CUBLASLT_MATMUL_DESC_TRANSA, Operation, transpose_a),
      FIELD(CUBLASLT_MATMUL_DESC_TRANSB, Operation, transpose_b),
      FIELD(CUBLASLT_MATMUL_DESC_TRANSC, Operation, transpose_c),
      FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE, Operation, epilogue),
      FIELD(CUBLASLT_MATMUL_DESC_BIAS_POINTER, Operation, bias),
      FIELD(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, Operation, bias_offset),
      FIELD(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, Operation, bias_type),
      FIELD(CUBLASLT_MATMUL_DESC_FAST_ACCUM, Operation, fast_accumulation),
  };
  return fields;
}

const Fields& preference_fields() {
  static const Fields fields = {
      FIELD(CUBLASLT_MATMUL_PREF_SEARCH_MODE, Preference, search_mode),
      FIELD(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, Preference, workspace),
      FIELD(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, Preference, reduction_schemes),
      FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, Preference, alignment_a),
      FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, Preference, alignment_b),
      FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, Preference, alignment_c),
      FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, Preference, alignment_d),
  };
  return fields;
}
#undef FIELD

cublasStatus_t set(const Fields& fields, void* descriptor, int attribute, const void* value,
                   std::size_t bytes) {
  const auto found = fields.find(attribute);
  if (descriptor == nullptr || value == nullptr || found == fields.end() ||
      found->second.bytes != bytes) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  std::memcpy(static_cast<std::byte*>(descriptor) + found->second.offset, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

template <class Held, class Opaque>
cublasStatus_t fill(Opaque* descriptor, std::size_t bytes, const Held& held) {
  static_assert(sizeof(Held) <= sizeof(Opaque));
  if (descriptor == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (bytes < sizeof(Opaque)) return CUBLAS_STATUS_ALLOC_FAILED;
  *descriptor = {};
  new (descriptor) Held(held);
  return CUBLAS_STATUS_SUCCESS;
}

template <class Opaque, class Held>
cublasStatus_t create(Opaque** descriptor, const Held& held) {
  if (descriptor == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *descriptor = new (std::nothrow) Opaque();
  if (*descriptor == nullptr) return CUBLAS_STATUS_ALLOC_FAILED;
  return fill(*descriptor, sizeof(Opaque), held);
}

template <class Opaque>
cublasStatus_t destroy(Opaque* descriptor) {
  delete descriptor;
  return CUBLAS_STATUS_SUCCESS;
}

Layout layout_of(cudaDataType type, std::uint64_t rows, std::uint64_t columns,
                 std::int64_t leading) {
  Layout result;
  result.type = static_cast<std::uint32_t>(type);
  result.rows = rows;
  result.columns = columns;
  result.leading = leading;
  return result;
}

Operation operation_of(cublasComputeType_t compute_type, cudaDataType_t scale_type) {
  Operation result;
  result.compute_type = compute_type;
  result.scale_type = scale_type;
  return result;
}

}  // namespace

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, std::size_t bytes,
                                                 cudaDataType type, std::uint64_t rows,
                                                 std::uint64_t columns, std::int64_t leading) {
  return fill(layout, bytes, layout_of(type, rows, columns, leading));
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t leading) {
  return create(layout, layout_of(type, rows, columns, leading));
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy(layout);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, std::size_t bytes) {
  return set(layout_fields(), layout, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t operation, std::size_t bytes,
                                               cublasComputeType_t compute_type,
                                               cudaDataType_t scale_type) {
  return fill(operation, bytes, operation_of(compute_type, scale_type));
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation,
                                        cublasComputeType_t compute_type,
                                        cudaDataType_t scale_type) {
  return create(operation, operation_of(compute_type, scale_type));
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  return destroy(operation);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  return set(operation_fields(), operation, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference,
                                                     std::size_t bytes) {
  return fill(preference, bytes, Preference());
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return create(preference, Preference());
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy(preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  return set(preference_fields(), preference, attribute, value, bytes);
}
