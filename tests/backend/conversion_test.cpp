// Stored numbers to those of training, on any number of threads.
#include <doctest/doctest.h>

#include "base/check.h"
#include "kernel_runner.h"
#include "ops/ops.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

Attrs conversion(double scale, std::vector<double> mean, std::vector<double> std) {
  Attrs attrs{{"dtype", std::string("float32")}, {"scale", scale}, {"offset", 0.25}};
  if (mean.empty()) return attrs;
  attrs.set("mean", std::move(mean));
  attrs.set("std", std::move(std));
  return attrs;
}

/// Rows of 300 samples in no order, one of them not there.
Tensor rows(std::int64_t count) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<double>(i * 37 % 301));
  return tensor(DType::kInt32, {count}, std::move(numbers));
}

}  // namespace

TEST_CASE("threads that convert together convert like one, and like the naive kernels") {
  for (const Attrs& attrs : {conversion(0.1, {}, {}), conversion(1 / 255.0, {0.5}, {0.25}),
                             conversion(1 / 255.0, {0.1, 0.2, 0.3, 0.4}, {1, 2, 0.5, 0.3})}) {
    const Tensor samples = some_tensor(DType::kUInt8, {300, 250, 4}, 5);
    const TensorType taken{DType::kFloat32, {200, 250, 4}};
    check_threads("take_rows", {samples, rows(200)}, taken, attrs);
    check_fast("take_rows", {samples, rows(200)}, taken, attrs);
    const TensorType whole{DType::kFloat32, samples.type.shape};
    check_threads("convert", {samples}, whole, attrs);
    check_fast("convert", {samples}, whole, attrs);
  }
}

TEST_CASE("scalar samples have one mean for all") {
  const Tensor samples = some_tensor(DType::kUInt8, {300}, 5);
  check_fast("take_rows", {samples, rows(200)}, {DType::kFloat32, {200}},
             conversion(0.1, {0.5}, {0.25}));
  const Attrs attrs = conversion(0.1, {0.5, 1}, {0.25, 1});
  const std::vector<TensorType> inputs{samples.type, {DType::kInt32, {200}}};
  const OpArgs taken{.inputs = inputs, .attrs = attrs, .output = {}};
  CHECK_THROWS_WITH_AS(ops::kTakeRows.infer(taken), doctest::Contains("2 means of samples without"),
                       CheckFailure);
  const OpArgs whole{.inputs = {inputs.data(), 1}, .attrs = attrs, .output = {}};
  CHECK_THROWS_WITH_AS(ops::kConvert.infer(whole), doctest::Contains("2 means of samples without"),
                       CheckFailure);
}

TEST_CASE("a device takes its part of every row") {
  const Tensor samples = some_tensor(DType::kUInt8, {300, 6, 4}, 5);
  const Attrs attrs = conversion(0.5, {1, 2, 3, 4}, {1, 2, 4, 8});
  const auto cpu = make_cpu_backend(1), naive = make_reference_backend();
  const TensorType tile{DType::kFloat32, {9, 2, 3}};
  const RunOptions part{.region = {{20, 6, 4}, {5, 3, 1}}};
  const Tensor taken = run(*cpu, "take_rows", {samples, rows(9)}, tile, attrs, part);
  CHECK(same(taken, run(*naive, "take_rows", {samples, rows(9)}, tile, attrs, part)));
  // Row 37, line 3, channel 1.
  const double stored = samples.values[37 * 24 + 3 * 4 + 1];
  CHECK(taken.values[6] == (stored * 0.5 + 0.25 - 2) / 2);
  const Tensor stored_tile = some_tensor(DType::kUInt8, {9, 2, 3}, 6);
  CHECK(same(run(*cpu, "convert", {stored_tile}, tile, attrs, part),
             run(*naive, "convert", {stored_tile}, tile, attrs, part)));
}
