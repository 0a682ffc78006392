#include "backend/cuda/products/algorithm.h"

#include <map>
#include <mutex>
#include <utility>

#include "backend/cuda/products/heuristics.h"
#include "backend/cuda/products/table.h"
#include "base/error.h"

namespace meshwork::cuda::products {
namespace {

/// Tables are texts, which anybody may have written.
void check_usable(Gpu& gpu, const std::string& file, const Problem& problem,
                  const Description& description, const cublasLtMatmulAlgo_t& algorithm) {
  gpu.make_current();
  cublasLtMatmulHeuristicResult_t result{};
  const cublasStatus_t status = cublaslt().cublasLtMatmulAlgoCheck(
      cublaslt_handle(gpu), description.operation.get(), description.a.get(), description.b.get(),
      description.y.get(), description.y.get(), &algorithm, &result);
  if (status == CUBLAS_STATUS_SUCCESS &&
      result.workspaceSize <= static_cast<std::size_t>(problem.workspace)) {
    return;
  }
  fail(ExitCode::kFile, "{}: cuBLASLt refuses the algorithm of {}; {}", file, text_of(problem),
       kWayOutOfTable);
}

std::optional<cublasLtMatmulAlgo_t> choose_algorithm(Gpu& gpu, const Problem& problem,
                                                     const Description& description,
                                                     const std::string& text) {
  if (const TableInUse* const used = table_in_use(gpu)) {
    const auto tuned = used->table.products.find(problem);
    if (tuned != used->table.products.end()) {
      check_usable(gpu, used->file, problem, description, tuned->second.algorithm);
      return tuned->second.algorithm;
    }
  }
  const auto proposed = proposed_algorithms(gpu, problem, description, text, 1);
  return proposed.empty() ? std::nullopt : std::optional(proposed.front());
}

}  // namespace

std::optional<cublasLtMatmulAlgo_t> algorithm_of(Gpu& gpu, const Problem& problem,
                                                 const Description& description,
                                                 const std::string& text) {
  static std::mutex mutex;
  static std::map<std::pair<int, Problem>, std::optional<cublasLtMatmulAlgo_t>> chosen;
  const std::lock_guard lock(mutex);
  const std::pair key(gpu.number(), problem);
  const auto known = chosen.find(key);
  if (known != chosen.end()) return known->second;
  return chosen[key] = choose_algorithm(gpu, problem, description, text);
}

}  // namespace meshwork::cuda::products
