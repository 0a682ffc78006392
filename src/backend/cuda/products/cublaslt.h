#pragma once

#include <cublasLt.h>

#include <string_view>

#include "device/cuda/gpu.h"

namespace meshwork::cuda::products {

/// Functions of cuBLASLt that are called here.
// clang-format off
#define MW_CUBLASLT_FUNCTIONS(MW_FUNCTION) \
  MW_FUNCTION(cublasLtCreate) \
  MW_FUNCTION(cublasLtGetStatusString) \
  MW_FUNCTION(cublasLtGetVersion) \
  MW_FUNCTION(cublasLtMatmul) \
  MW_FUNCTION(cublasLtMatmulAlgoCheck) \
  MW_FUNCTION(cublasLtMatmulAlgoGetHeuristic) \
  MW_FUNCTION(cublasLtMatmulDescCreate) \
  MW_FUNCTION(cublasLtMatmulDescDestroy) \
  MW_FUNCTION(cublasLtMatmulDescSetAttribute) \
  MW_FUNCTION(cublasLtMatmulPreferenceCreate) \
  MW_FUNCTION(cublasLtMatmulPreferenceDestroy) \
  MW_FUNCTION(cublasLtMatmulPreferenceSetAttribute) \
  MW_FUNCTION(cublasLtMatrixLayoutCreate) \
  MW_FUNCTION(cublasLtMatrixLayoutDestroy) \
  MW_FUNCTION(cublasLtMatrixLayoutSetAttribute)
// clang-format on

/// The same as a table, each under its name.
struct Cublaslt {
#define MW_MEMBER(name) decltype(&::name) name;
  MW_CUBLASLT_FUNCTIONS(MW_MEMBER)
#undef MW_MEMBER
};

/// cuBLASLt of this machine, opened by the first call. Throws a configuration Error where it is
/// missing.
const Cublaslt& cublaslt();

/// The state of cuBLASLt on a GPU, made by the first call for all threads and kept.
cublasLtHandle_t cublaslt_handle(Gpu& gpu);

/// Throws an Error with cuBLASLt's words, of ExitCode::kCommunication: a GPU that fails is lost.
/// `what` says what was tried: "describing a matrix".
void check(cublasStatus_t status, std::string_view what);

}  // namespace meshwork::cuda::products
