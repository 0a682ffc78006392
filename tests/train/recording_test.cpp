#include "train/recording.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/training.h"
#include "train/compare_recordings.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

/// Two steps of a loss and of a weight [2, 3].
Recording recording(std::vector<double> losses, std::vector<std::vector<float>> values) {
  return {std::move(losses), {{.path = "d/kernel", .shape = {2, 3}, .values = std::move(values)}}};
}

const std::vector<float> kStart{1, 2, 3, 4, 5, 6};

Recording known() { return recording({2, 1}, {kStart, {1, 2, 3, 4, 5, 8}, {1, 2, 3, 4, 5, 10}}); }

/// A disturbance that does 1e-6 of the greatest weight in the first step.
Recording disturbed() {
  Recording result = known();
  result.tensors[0].values[1][0] += 8e-6F;
  return result;
}

RecordingComparison compare(const Recording& left, double tolerance = 1e-5) {
  return compare_recordings(left, known(), std::vector{disturbed()}, tolerance);
}

constexpr const char* kText = R"(
seed: 3
mesh: {data: 1, model: 1}
strategy: model_parallel
layout_map: {d/kernel: [null, model]}
dataset: {format: synthetic, splits: {train: {x: {normal: [12, 300]}, y: {integers: [12], below: 5}}}}
model:
  input: [300]
  layers:
    - Dense: {name: d, units: 257}
    - Dense: {name: logits, units: 5}
compile:
  optimizer: {SGD: {learning_rate: 0.1, momentum: 0.9}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
fit: {batch_size: 6}
)";

Recording record(const std::string& mesh, const RecordingOptions& options) {
  Job job = job_of(kText, mesh);
  prepare_recording(job);
  return record_steps(job, options);
}

}  // namespace

TEST_CASE("recordings that are the same, or as far apart as a disturbance brings them, agree") {
  const RecordingComparison same = compare(known());
  CHECK(same.same_start);
  REQUIRE(same.steps.size() == 2);
  CHECK(same.steps[0].agrees);
  CHECK(same.steps[0].tensor.distance.difference == 0);
  CHECK(same.steps[0].tensor.distance.disturbed == doctest::Approx(1e-6).epsilon(0.1));

  Recording near = known();
  near.tensors[0].values[1][4] += 2e-4F;
  CHECK(compare(near).steps[0].agrees);
  near.tensors[0].values[1][4] += 2e-4F;
  CHECK_FALSE(compare(near).steps[0].agrees);
  CHECK(compare(near, 1e-3).steps[0].agrees);
  CHECK(compare(near).steps[1].agrees);
}

TEST_CASE("a difference is found in its step, tensor and element") {
  Recording other = known();
  other.tensors[0].values[2][4] = 6;
  other.losses[1] = 1.5;
  const RecordingComparison found = compare(other);
  CHECK(found.same_start);
  CHECK(found.steps[0].agrees);
  const StepComparison& step = found.steps[1];
  CHECK_FALSE(step.agrees);
  CHECK(step.loss.difference == doctest::Approx(1.0 / 3));
  CHECK_FALSE(step.loss.is_within(1e-5));
  CHECK(step.tensor.path == "d/kernel");
  CHECK(step.tensor.place == "[1, 1]");
  CHECK((step.tensor.left == 6 && step.tensor.right == 5));
  CHECK(step.tensor.distance.difference == doctest::Approx(0.1));

  other.tensors[0].values[0][0] += 1e-6F;
  CHECK_FALSE(compare(other).same_start);
}

TEST_CASE("what is no number agrees with its like alone; a tolerance of 0 asks for bits") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  Recording broken = known();
  broken.tensors[0].values[1][2] = kNan;
  CHECK_FALSE(compare(broken, 1e9).steps[0].agrees);
  CHECK(compare_recordings(broken, broken, std::vector{broken}, 1e-5).steps[0].agrees);
  broken = known();
  broken.losses[0] = std::nan("");
  CHECK_FALSE(compare(broken).steps[0].agrees);

  CHECK(compare(disturbed()).steps[0].agrees);
  CHECK_FALSE(compare(disturbed(), 0).steps[0].agrees);
  CHECK(compare(known(), 0).steps[0].agrees);
}

TEST_CASE("of several disturbances the one counts that does most") {
  Recording far = known();
  far.losses[1] *= 1.001;
  far.tensors[0].values[2][3] += 0.05F;
  std::vector<Recording> several{disturbed()};
  CHECK_FALSE(compare_recordings(far, known(), several, 1e-5).agrees());
  several.push_back(known());
  several.back().losses[1] *= 1.0005;
  several.back().tensors[0].values[2][1] -= 0.01F;
  CHECK(compare_recordings(far, known(), several, 1e-5).agrees());
  several.pop_back();
  several.push_back(disturbed());
  CHECK_FALSE(compare_recordings(far, known(), several, 1e-5).agrees());
}

TEST_CASE("all meshes record the same elements, of large tensors some") {
  const Recording one = record("1x1", {.steps = 3});
  REQUIRE(one.losses.size() == 3);
  CHECK(one.losses[2] < one.losses[0]);
  REQUIRE(one.tensors.size() == 8);  // weights, and their momentum
  const auto kernel =
      std::ranges::find(one.tensors, std::string("d/kernel"), &RecordedTensor::path);
  REQUIRE(kernel != one.tensors.end());
  CHECK(kernel->stride == 10);  // of 77,100
  CHECK(kernel->values.size() == 4);
  CHECK(kernel->values[0].size() == 7'710);
  CHECK(kernel->values[0] != kernel->values[1]);
  const Recording disturbed = record("1x1", {.steps = 3, .disturbance = 0x1p-23});
  for (const std::string mesh : {"1x3", "2x2", "3x1"}) {
    CAPTURE(mesh);
    const Recording many = record(mesh, {.steps = 3});
    const RecordingComparison comparison =
        compare_recordings(many, one, std::vector{disturbed}, 1e-5);
    CHECK(comparison.same_start);
    for (const StepComparison& step : comparison.steps) {
      CHECK(step.agrees);
      CHECK(step.tensor.distance.difference < 1e-5);
    }
  }
}

TEST_CASE("a disturbance changes each weight by no more, and alike on every mesh") {
  const Recording plain = record("1x1", {.steps = 1});
  const Recording one = record("1x1", {.steps = 1, .disturbance = 0.01});
  const Recording many = record("2x2", {.steps = 1, .disturbance = 0.01});
  const Recording other = record("1x1", {.steps = 1, .disturbance = 0.01, .draw = 1});
  CHECK(other.tensors[0].values[0] != one.tensors[0].values[0]);
  std::size_t changed = 0;
  for (std::size_t i = 0; i < plain.tensors.size(); ++i) {
    CHECK(one.tensors[i].values[0] == many.tensors[i].values[0]);
    for (std::size_t k = 0; k < plain.tensors[i].values[0].size(); ++k) {
      const float a = plain.tensors[i].values[0][k], b = one.tensors[i].values[0][k];
      CHECK(std::abs(a - b) <= 0.01001F * std::abs(a));
      changed += a == b ? 0 : 1;
    }
  }
  CHECK(changed > 8'500);
}
