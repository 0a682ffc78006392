#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "backend/backend.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/reference/kernels.h"
#include "base/check.h"
#include "base/error.h"
#include "kernel_runner.h"

using namespace meshwork;

namespace {

bool is_sorted_and_unique(std::span<const KernelDef> list) {
  return std::adjacent_find(list.begin(), list.end(), [](const auto& a, const auto& b) {
           return a.op >= b.op;
         }) == list.end();
}

}  // namespace

TEST_CASE("device memory is aligned, zeroed and holds what is copied") {
  const auto backend = make_cpu_backend(1);
  for (const std::int64_t bytes : {0, 1, 63, 64, 65, 100000}) {
    const auto memory = backend->allocate(bytes);
    REQUIRE(memory != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(memory.get()) % 64 == 0);
    CHECK(std::all_of(memory.get(), memory.get() + bytes,
                      [](std::byte value) { return value == std::byte{0}; }));
  }
  const std::array<int, 4> from{1, 2, 3, 4};
  std::array<int, 4> to{};
  const auto memory = backend->allocate(sizeof(from));
  backend->copy_to_device(memory.get(), from.data(), sizeof(from));
  backend->copy_to_host(to.data(), memory.get(), sizeof(to));
  CHECK(to == from);
  backend->copy_to_host(to.data(), memory.get(), 0);
  CHECK_THROWS_AS(backend->allocate(-1), CheckFailure);
}

TEST_CASE("memory that no machine has is refused with both numbers") {
  for (const bool fast : {false, true}) {
    const auto backend = fast ? make_cpu_backend(1) : make_reference_backend();
    try {
      backend->allocate(std::int64_t{1} << 60);
      FAIL("an exabyte was given");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kTraining);
      const std::string message = error.what();
      CHECK(message.find("device memory: 1152921504606846976 bytes are needed and about ") == 0);
      CHECK(message.find("use a smaller batch, or shard over more devices") != std::string::npos);
    }
  }
}

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
  CHECK(backend->name() == "cpu");
  CHECK(reference->name() == "reference");
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
