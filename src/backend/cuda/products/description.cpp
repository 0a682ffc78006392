#include "backend/cuda/products/description.h"

#include <utility>

#include "base/check.h"

namespace meshwork::cuda::products {
namespace {

cudaDataType_t data_type_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return CUDA_R_32F;
    case DType::kBFloat16:
      return CUDA_R_16BF;
    default:
      MW_CHECK(dtype == DType::kFloat16, "a product of {}", to_string(dtype));
      return CUDA_R_16F;
  }
}

Owned<cublasLtMatmulDesc_t> describe_operation(const Problem& problem, const std::byte* bias) {
  cublasLtMatmulDesc_t made = nullptr;
  const cublasComputeType_t compute =
      problem.tensor_float32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  check(cublaslt().cublasLtMatmulDescCreate(&made, compute, CUDA_R_32F), "describing a product");
  Owned<cublasLtMatmulDesc_t> operation(made, cublaslt().cublasLtMatmulDescDestroy);
  const auto set_transposed = [&](cublasLtMatmulDescAttributes_t attribute, bool is_transposed) {
    const cublasOperation_t value = is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    set(cublaslt().cublasLtMatmulDescSetAttribute, operation, attribute,
        static_cast<std::int32_t>(value));
  };
  set_transposed(CUBLASLT_MATMUL_DESC_TRANSA, problem.a.is_transposed);
  set_transposed(CUBLASLT_MATMUL_DESC_TRANSB, problem.b.is_transposed);
  if (problem.bias) {
    const auto set_attribute = cublaslt().cublasLtMatmulDescSetAttribute;
    set(set_attribute, operation, CUBLASLT_MATMUL_DESC_EPILOGUE,
        problem.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS);
    set(set_attribute, operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    if (problem.stack > 1)
      set(set_attribute, operation, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, problem.bias_stack);
  }
  return operation;
}

Owned<cublasLtMatrixLayout_t> describe_matrix(const Operand& operand, DType dtype,
                                              std::int64_t rows, std::int64_t columns,
                                              std::int64_t stack) {
  if (operand.is_transposed) std::swap(rows, columns);
  cublasLtMatrixLayout_t made = nullptr;
  check(cublaslt().cublasLtMatrixLayoutCreate(&made, data_type_of(dtype),
                                              static_cast<std::uint64_t>(rows),
                                              static_cast<std::uint64_t>(columns), operand.leading),
        "describing a matrix");
  Owned<cublasLtMatrixLayout_t> layout(made, cublaslt().cublasLtMatrixLayoutDestroy);
  if (stack > 1) {
    const auto set_attribute = cublaslt().cublasLtMatrixLayoutSetAttribute;
    set(set_attribute, layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
        static_cast<std::int32_t>(stack));
    set(set_attribute, layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, operand.stack);
  }
  return layout;
}

}  // namespace

Description::Description(const Problem& p, const std::byte* bias)
    : operation(describe_operation(p, bias)),
      a(describe_matrix(p.a, p.operands, p.rows, p.depth, p.stack)),
      b(describe_matrix(p.b, p.operands, p.depth, p.columns, p.stack)),
      y(describe_matrix(p.y, p.result, p.rows, p.columns, p.stack)) {}

}  // namespace meshwork::cuda::products
