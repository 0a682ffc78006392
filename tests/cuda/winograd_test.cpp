// Convolutions by transformed tiles against the naive kernels.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "backend/cuda/windows/by_products.h"
#include "base/rng.h"
#include "cuda/case_runs.h"
#include "cuda/window_uses.h"

using namespace meshwork;
using namespace meshwork::testing;
using cuda::windows::Sought;
using cuda::windows::Task;

namespace {

constexpr DType kFloat32 = DType::kFloat32;

Task task_of(const Geometry& g, Sought sought, DType dtype = kFloat32) {
  const Shape y = g.y(g.w.back());
  const auto view = [&](const Shape& shape) {
    return TensorView{{dtype, shape}, whole_region(shape), nullptr};
  };
  const Use use = convolution(g, kFloat32, kFloat32);
  const TensorView x = view(g.x), w = view(g.w), result = view(y);
  return {sought, cuda::windows::convolution_of(use.attrs, x, w, result), x, w, result};
}

bool is_taken(const Geometry& g, DType dtype = kFloat32) {
  const bool taken = cuda::windows::kWinograd.takes(task_of(g, Sought::kY, dtype));
  for (const Sought sought : {Sought::kX, Sought::kW}) {
    CHECK(cuda::windows::kWinograd.takes(task_of(g, sought, dtype)) == taken);
  }
  return taken;
}

Geometry geometry(const Shape& x, std::int64_t filters, Integers low = {1, 1},
                  Integers high = {1, 1}) {
  return {x, {3, 3, x.back(), filters}, {1, 1}, std::move(low), std::move(high)};
}

std::vector<Use> uses_of(const Geometry& g) {
  return {convolution(g, kFloat32, kFloat32), backward_data(g, kFloat32, kFloat32),
          backward_filter(g, kFloat32, kFloat32)};
}

}  // namespace

TEST_CASE("convolutions of transformed tiles, of even and odd images, whatever their margins") {
  for (const Geometry& g :
       {geometry({32, 8, 8, 128}, 128), geometry({19, 9, 11, 130}, 129),
        geometry({33, 9, 8, 128}, 132, {0, 0}, {0, 0}),
        geometry({32, 8, 10, 128}, 128, {2, 0}, {0, 1}),
        geometry({32, 7, 6, 128}, 128, {2, 2}, {2, 2}), geometry({600, 1, 1, 128}, 128)}) {
    CHECK(is_taken(g));
    for (const Use& use : uses_of(g)) check_use(use, g.x[0] % 2);
  }
}

TEST_CASE("sums of convolutions by transformed tiles keep the digits of float32") {
  for (Use use : uses_of(geometry({32, 8, 8, 128}, 128))) {
    CAPTURE(use.op->name);
    for (std::size_t i = 0; i < use.inputs.size(); ++i) {
      float* const numbers = use.inputs[i].as<float>().data();
      for (std::int64_t j = 0; j < num_elements(use.inputs[i].type.shape); ++j) {
        numbers[j] = static_cast<float>(uniform_at(7 + i, 0, static_cast<std::uint64_t>(j)) - 0.3);
      }
    }
    const KernelDef* const kernel = gpu_backend().find(use.op->name);
    REQUIRE(kernel != nullptr);
    const std::vector<double> found = to_doubles(on_gpu(use, *kernel, 0));
    const std::vector<double> expected = to_doubles(naive(use));
    double greatest = 0, difference = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      greatest = std::max(greatest, std::abs(expected[i]));
      difference = std::max(difference, std::abs(found[i] - expected[i]));
    }
    CHECK(difference <= 2e-6 * greatest);
  }
}

TEST_CASE("tiles are transformed only where that pays") {
  CHECK(is_taken(geometry({64, 28, 28, 128}, 128)));
  CHECK_FALSE(is_taken(geometry({64, 28, 28, 64}, 128)));
  CHECK_FALSE(is_taken(geometry({64, 28, 28, 128}, 64)));
  CHECK_FALSE(is_taken(geometry({4, 8, 8, 128}, 128)));
  CHECK_FALSE(is_taken(geometry({64, 28, 28, 128}, 128), DType::kBFloat16));
  CHECK_FALSE(is_taken({{64, 28, 28, 128}, {3, 3, 128, 128}, {2, 2}, {1, 1}, {1, 1}}));
  CHECK_FALSE(is_taken({{64, 28, 28, 128}, {5, 5, 128, 128}, {1, 1}, {2, 2}, {2, 2}}));
  CHECK_FALSE(is_taken({{64, 28, 28, 128}, {3, 3, 128, 128}, {1, 1}, {2, 2}, {2, 2}, {2, 2}}));
  CHECK_FALSE(is_taken({{64, 28, 28, 256}, {3, 3, 128, 256}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2}));
}
