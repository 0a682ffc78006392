// Statistics of channels on GPUs: few and many channels, last and in the middle, far from 0.
#include <doctest/doctest.h>

#include <cmath>

#include "base/rng.h"
#include "cuda/placed_call.h"
#include "cuda/values.h"
#include "ops/ops.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

struct Channels {
  Shape shape;
  std::int64_t axis;

  std::int64_t count() const { return shape[static_cast<std::size_t>(axis)]; }
  Attrs attrs() const { return {{"axis", axis}}; }
  TensorType row() const { return {DType::kFloat32, {count()}}; }
  /// Sums of n terms around 1 in magnitude.
  double tolerance() const {
    return 3e-6 * std::sqrt(num_elements(shape) / std::max(1.0, 1.0 * count()));
  }
};

const std::vector<Channels>& many_channels() {
  static const std::vector<Channels> list{
      {{20000, 3}, 1},      {{9, 30, 30, 16}, 3}, {{300, 64}, 1},  {{40, 513}, 1},
      {{33, 1000}, 1},      {{2, 3, 5000}, 1},    {{4, 30, 7}, 1}, {{5, 3, 4, 6}, 0},
      {{6, 5, 4, 3, 8}, 2}, {{7, 1}, 1},          {{0, 3}, 1},     {{3, 0}, 1},
  };
  return list;
}

}  // namespace

TEST_CASE("sums of channels") {
  for (const Channels& channels : many_channels()) {
    CAPTURE(to_string(channels.shape));
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      const HostTensor x = noise({dtype, channels.shape}, 3),
                       dy = noise({dtype, channels.shape}, 4);
      const HostTensor shift = noise(channels.row(), 5);
      check_close(ops::kShiftedSums, {x, shift}, channels.attrs(),
                  {DType::kFloat32, {3, channels.count()}}, channels.tolerance());
      check_close(ops::kScaleOffsetSums, {x, dy}, channels.attrs(),
                  {DType::kFloat32, {2, channels.count()}}, channels.tolerance());
    }
  }
}

TEST_CASE("sums of channels around their own mean, by one pass") {
  for (const Channels& channels : many_channels()) {
    CAPTURE(to_string(channels.shape));
    const double count = std::max(
        1.0, 1.0 * num_elements(channels.shape) / std::max<double>(1, 1.0 * channels.count()));
    const Attrs attrs{{"axis", channels.axis}, {"factor", 1 / count}};
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      check_close(ops::kChannelMoments, {noise({dtype, channels.shape}, 3)}, attrs,
                  {DType::kFloat32, {4, channels.count()}}, channels.tolerance());
    }
  }
}

TEST_CASE("a variance keeps its digits far from 0, and where parts are far apart") {
  const std::int64_t rows = 20000;
  const Attrs attrs{{"axis", std::int64_t{1}}, {"factor", 1.0 / rows}};
  const auto drawn = [](std::int64_t i) { return uniform_at(3, 0, static_cast<std::uint64_t>(i)); };
  const TensorType type{DType::kFloat32, {rows, 4}}, result{DType::kFloat32, {4, 4}};
  const HostTensor far = filled(type, [&](std::int64_t i) { return 1e4 + drawn(i); });
  const HostTensor drifting =
      filled(type, [&](std::int64_t i) { return 1e-2 * double(i) + drawn(i); });
  const HostTensor outlier = filled(type, [&](std::int64_t i) { return i < 4 ? 1e3 : drawn(i); });
  for (const HostTensor& x : {far, drifting, outlier}) {
    const HostTensor y = call_placed(ops::kChannelMoments, {x}, attrs, result);
    const HostTensor expected = call_naive(ops::kChannelMoments, {x}, attrs, result);
    for (std::size_t c = 0; c < 4; ++c) {
      const auto variance = [&](const HostTensor& of) {
        const double mean = of.as<float>()[4 + c] / rows;
        return of.as<float>()[8 + c] / rows - mean * mean;
      };
      CHECK(variance(y) == doctest::Approx(variance(expected)).epsilon(1e-5));
      CHECK(y.as<float>()[12 + c] == doctest::Approx(expected.as<float>()[12 + c]).epsilon(1e-6));
    }
  }
}

TEST_CASE("scaled channels have the bits of the CPU") {
  const auto cpu = make_cpu_backend(1);
  for (const Channels& channels : many_channels()) {
    CAPTURE(to_string(channels.shape));
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      const HostTensor x = noise({dtype, channels.shape}, 3);
      const HostTensor scale = noise(channels.row(), 4), offset = noise(channels.row(), 5);
      const std::vector<HostTensor> inputs{x, scale, offset};
      const Attrs attrs = channels.attrs();
      const HostTensor expected = call_kernel(
          *cpu, ops::kScaleOffset, {whole_part(x), whole_part(scale), whole_part(offset)}, attrs,
          x.type, whole_region(x.type.shape));
      CHECK(call_placed(ops::kScaleOffset, inputs, attrs, x.type) == expected);
      CHECK(call_placed(ops::kScaleOffset, inputs, attrs, x.type, {.shift = 1}) == expected);
      CHECK(call_placed(ops::kScaleOffset, inputs, attrs, x.type, {.in_place = 0}) == expected);
    }
  }
}

TEST_CASE("sums around a shift near the mean keep the variance of large numbers") {
  const std::int64_t rows = 20000;
  const HostTensor x = filled({DType::kFloat32, {rows, 4}}, [](std::int64_t i) {
    return 1e4 + uniform_at(3, 0, static_cast<std::uint64_t>(i));
  });
  const HostTensor shift = filled({DType::kFloat32, {4}}, [](std::int64_t) { return 1e4; });
  const Attrs attrs{{"axis", std::int64_t{1}}};
  const TensorType result{DType::kFloat32, {3, 4}};
  const HostTensor y = call_placed(ops::kShiftedSums, {x, shift}, attrs, result);
  CHECK(difference(y, call_naive(ops::kShiftedSums, {x, shift}, attrs, result), 1e-6) == "");
  for (std::size_t c = 0; c < 4; ++c) {
    const double mean = y.as<float>()[4 + c] / rows;
    CHECK(y.as<float>()[8 + c] / rows - mean * mean == doctest::Approx(1.0 / 12).epsilon(0.02));
  }
}
