#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <cstdint>

#include "backend/backend.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/reference/kernels.h"
#include "base/check.h"
#include "kernel_runner.h"

using namespace meshwork;

namespace {

bool is_sorted_and_unique(std::span<const KernelDef> list) {
  return std::adjacent_find(list.begin(), list.end(), [](const auto& a, const auto& b) {
           return a.op >= b.op;
         }) == list.end();
}

}  // namespace

TEST_CASE("the threads of a device are those of its backend") {
  const auto two = make_cpu_backend(2);
  CHECK(omp_get_max_threads() == 2);
  const auto one = make_cpu_backend(1);
  CHECK(omp_get_max_threads() == 1);
  CHECK_THROWS_AS(make_cpu_backend(0), CheckFailure);
}

TEST_CASE("numbers too small for full precision are zero, on every thread of a device") {
  const std::int64_t many = 200'000;
  const auto all = [&](double value) {
    return testing::floats({many}, std::vector<double>(static_cast<std::size_t>(many), value));
  };
  for (const int threads : {1, 2}) {
    const auto backend = make_cpu_backend(threads);
    const TensorType type{DType::kFloat32, {many}};
    CHECK(
        testing::same(testing::run(*backend, "multiply", {all(1e-20), all(1e-19)}, type), all(0)));
    CHECK(testing::same(testing::run(*backend, "add", {all(1e-39), all(1e-39)}, type), all(0)));
    CHECK(testing::same(testing::run(*backend, "add", {all(2e-38), all(3e-38)}, type),
                        all(static_cast<double>(2e-38F + 3e-38F))));
  }
}

TEST_CASE("kernels are found by the name of their op, fast ones first") {
  const auto backend = make_cpu_backend(1);
  const auto reference = make_reference_backend();
  CHECK(backend->device().target().threads == 1);
  CHECK(backend->find("convolve") == nullptr);
  CHECK(reference->find("") == nullptr);
  for (const KernelDef& kernel : cpu::kernels()) {
    CHECK(backend->find(kernel.op) == &kernel);
    CHECK(reference->find(kernel.op) != nullptr);
  }
  for (const KernelDef& kernel : reference::kernels()) {
    CHECK(reference->find(kernel.op) == &kernel);
    CHECK(backend->find(kernel.op) != nullptr);
  }
  CHECK(is_sorted_and_unique(cpu::kernels()));
  CHECK(is_sorted_and_unique(reference::kernels()));
}
