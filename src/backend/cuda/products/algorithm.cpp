#include "backend/cuda/products/algorithm.h"

#include <map>
#include <mutex>
#include <utility>

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

std::optional<cublasLtMatmulAlgo_t> choose_algorithm(const Gpu& gpu, cublasLtHandle_t handle,
                                                     const Problem& problem,
                                                     const Description& description,
                                                     const std::string& text) {
  const Owned<cublasLtMatmulPreference_t> choice = describe_choice(problem);
  cublasLtMatmulHeuristicResult_t result{};
  int count = 0;
  cublasStatus_t status = cublaslt().cublasLtMatmulAlgoGetHeuristic(
      handle, description.operation.get(), description.a.get(), description.b.get(),
      description.y.get(), description.y.get(), choice.get(), 1, &result, &count);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = count > 0 ? result.state : CUBLAS_STATUS_NOT_SUPPORTED;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED && problem.bias) return std::nullopt;
  if (status != CUBLAS_STATUS_SUCCESS) {
    fail_without_algorithm(gpu, problem.operands, text, status);
  }
  return result.algo;
}

}  // namespace

std::optional<cublasLtMatmulAlgo_t> algorithm_of(Gpu& gpu, const Problem& problem,
                                                 const Description& description,
                                                 const std::string& text) {
  static std::mutex mutex;
  static std::map<std::pair<int, Problem>, std::optional<cublasLtMatmulAlgo_t>> chosen;
  gpu.make_current();
  cublasLtHandle_t handle = cublaslt_handle(gpu);
  const std::lock_guard lock(mutex);
  const std::pair key(gpu.number(), problem);
  const auto known = chosen.find(key);
  if (known != chosen.end()) return known->second;
  return chosen[key] = choose_algorithm(gpu, handle, problem, description, text);
}

}  // namespace meshwork::cuda::products
