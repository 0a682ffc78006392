#include "backend/cuda/products/heuristics.h"

#include "base/error.h"

namespace meshwork::cuda::products {
namespace {

/// What algorithms may be chosen. A sum that is split is added up in float32, in scratch memory of
/// its own, in a fixed order.
Owned<cublasLtMatmulPreference_t> describe_choice(const Problem& problem) {
  cublasLtMatmulPreference_t made = nullptr;
  check(cublaslt().cublasLtMatmulPreferenceCreate(&made), "describing a product");
  Owned<cublasLtMatmulPreference_t> choice(made, cublaslt().cublasLtMatmulPreferenceDestroy);
  const auto set_attribute = cublaslt().cublasLtMatmulPreferenceSetAttribute;
  set(set_attribute, choice, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
      static_cast<std::uint64_t>(problem.workspace));
  constexpr std::uint32_t kSchemes =
      CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  set(set_attribute, choice, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, kSchemes);
  const auto set_alignment = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                                 const Operand& operand) {
    set(set_attribute, choice, attribute, static_cast<std::uint32_t>(operand.alignment));
  };
  set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, problem.a);
  set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, problem.b);
  set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, problem.y);
  set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, problem.y);
  return choice;
}

[[noreturn]] void fail_without_algorithm(const Gpu& gpu, DType operands, const std::string& text,
                                         cublasStatus_t status) {
  constexpr int kFirstOfBFloat16 = 80;
  const bool is_too_old = operands == DType::kBFloat16 && gpu.capability() < kFirstOfBFloat16;
  fail("device cuda: cuBLASLt has no algorithm for {}: {}; {}, or say device: cpu", text,
       cublaslt().cublasLtGetStatusString(status),
       is_too_old ? "GPUs multiply bfloat16 from compute capability 8.0 on: say precision: "
                    "mixed_float16"
                  : "update cuBLAS");
}

}  // namespace

std::vector<cublasLtMatmulAlgo_t> proposed_algorithms(Gpu& gpu, const Problem& problem,
                                                      const Description& description,
                                                      const std::string& text, int most) {
  gpu.make_current();
  const Owned<cublasLtMatmulPreference_t> choice = describe_choice(problem);
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(most));
  int count = 0;
  cublasStatus_t status = cublaslt().cublasLtMatmulAlgoGetHeuristic(
      cublaslt_handle(gpu), description.operation.get(), description.a.get(), description.b.get(),
      description.y.get(), description.y.get(), choice.get(), most, results.data(), &count);
  results.resize(status == CUBLAS_STATUS_SUCCESS ? static_cast<std::size_t>(count) : 0);
  if (status == CUBLAS_STATUS_SUCCESS) status = CUBLAS_STATUS_NOT_SUPPORTED;
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (const cublasLtMatmulHeuristicResult_t& result : results) {
    if (result.state == CUBLAS_STATUS_SUCCESS) {
      algorithms.push_back(result.algo);
    } else {
      status = result.state;
    }
  }
  // Versions tell in different words that there is none with an epilogue.
  if (algorithms.empty() && !problem.bias)
    fail_without_algorithm(gpu, problem.operands, text, status);
  return algorithms;
}

}  // namespace meshwork::cuda::products
