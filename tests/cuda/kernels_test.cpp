// Kernels of GPUs against the naive ones, on the cases of every op; on an emulated GPU where there
// is none.
#include <doctest/doctest.h>

#include "backend/cuda/kernels.h"
#include "cuda/case_runs.h"

using namespace meshwork::testing;

namespace {

/// Each folder of kernels and its ops.
void check_folder(std::span<const meshwork::KernelDef> kernels) {
  std::set<std::string, std::less<>> ops;
  for (const meshwork::KernelDef& kernel : kernels) ops.emplace(kernel.op);
  check_cases(ops);
}

}  // namespace

TEST_CASE("kernels of attention") { check_folder(meshwork::cuda::attention_kernels()); }
TEST_CASE("kernels that copy") { check_folder(meshwork::cuda::copy_kernels()); }
TEST_CASE("kernels of elementwise ops") { check_folder(meshwork::cuda::elementwise_kernels()); }
TEST_CASE("kernels of movement") { check_folder(meshwork::cuda::movement_kernels()); }
TEST_CASE("kernels of products") { check_folder(meshwork::cuda::product_kernels()); }
TEST_CASE("kernels of random numbers") { check_folder(meshwork::cuda::random_kernels()); }
TEST_CASE("kernels of reductions") { check_folder(meshwork::cuda::reduction_kernels()); }
TEST_CASE("kernels of tables") { check_folder(meshwork::cuda::table_kernels()); }
TEST_CASE("kernels of windows") { check_folder(meshwork::cuda::window_kernels()); }
