#include <doctest/doctest.h>

#include <algorithm>

#include "optim/optimizer.h"
#include "optim/optimizer_text.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

std::vector<double> rates(const std::string& schedule, const std::vector<std::int64_t>& steps) {
  const Schedule rate = learning_rate_of(optimizer("SGD: {learning_rate: {" + schedule + "}}"));
  std::vector<double> result;
  std::transform(steps.begin(), steps.end(), std::back_inserter(result), rate);
  return result;
}

void check_rates(const std::string& schedule, const std::vector<std::int64_t>& steps,
                 const std::vector<double>& expected) {
  const std::vector<double> found = rates(schedule, steps);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO(schedule, " at ", steps[i]);
    CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-6));
  }
}

}  // namespace

TEST_CASE("golden numbers of Keras's schedules") {
  check_rates("ExponentialDecay: {initial_learning_rate: 0.1, decay_steps: 10, decay_rate: 0.5}",
              {0, 5, 10, 20}, {.1, .07071068, .05, .025});
  check_rates(
      "ExponentialDecay: {initial_learning_rate: 0.1, decay_steps: 10, decay_rate: 0.5, "
      "staircase: true}",
      {0, 9, 10, 19}, {.1, .1, .05, .05});
  check_rates("PiecewiseConstantDecay: {boundaries: [10, 20], values: [1, 0.5, 0.1]}",
              {0, 10, 11, 20, 21}, {1, 1, .5, .5, .1});
  check_rates("CosineDecay: {initial_learning_rate: 0.1, decay_steps: 10}", {0, 5, 10, 15},
              {.1, .05, 0, 0});
  check_rates(
      "CosineDecay: {initial_learning_rate: 0, decay_steps: 10, alpha: 0.1, warmup_target: 0.1, "
      "warmup_steps: 5}",
      {0, 1, 5, 10, 15}, {0, .02, .1, .055, .01});
  check_rates("InverseTimeDecay: {initial_learning_rate: 0.1, decay_steps: 2, decay_rate: 0.5}",
              {0, 1, 4}, {.1, .08, .05});
}

TEST_CASE("numbers recorded from Keras 3.15.1") {
  check_rates(
      "PolynomialDecay: {initial_learning_rate: 0.2, decay_steps: 4, end_learning_rate: 0.01, "
      "power: 2.0}",
      {0, 1, 3, 4, 5, 9}, {0.2, 0.116875, 0.021875, 0.0099999998, 0.0099999998, 0.0099999998});
  check_rates(
      "PolynomialDecay: {initial_learning_rate: 0.2, decay_steps: 4, end_learning_rate: 0.01, "
      "power: 2.0, cycle: true}",
      {0, 1, 3, 4, 5, 9}, {0.2, 0.116875, 0.021875, 0.0099999998, 0.036718749, 0.021875});
  check_rates(
      "CosineDecayRestarts: {initial_learning_rate: 0.2, first_decay_steps: 3, t_mul: 1.5, m_mul: "
      "0.8, alpha: 0.05}",
      {0, 1, 3, 4, 5, 9}, {0.2, 0.1525, 0.162, 0.14421938, 0.099197268, 0.11737551});
  check_rates("CosineDecayRestarts: {initial_learning_rate: 0.2, first_decay_steps: 3, t_mul: 1.0}",
              {0, 1, 3, 4, 5, 9}, {0.2, 0.15000001, 0.2, 0.14999999, 0.050000012, 0.2});
  check_rates(
      "InverseTimeDecay: {initial_learning_rate: 0.1, decay_steps: 2, decay_rate: 0.5, staircase: "
      "true}",
      {0, 1, 3, 4, 5, 9}, {0.1, 0.1, 0.06666667, 0.050000001, 0.050000001, 0.033333335});
}

TEST_CASE("a constant rate is rounded to float32, and may be an integer") {
  CHECK(learning_rate_of(optimizer("SGD: {learning_rate: 0.1}"))(7) == double{0.1F});
  CHECK(learning_rate_of(optimizer("SGD: {learning_rate: 1}"))(0) == 1.0);
  CHECK(learning_rate_of(optimizer("sgd"))(0) == double{0.01F});
  CHECK(learning_rate_of(optimizer("adamw"))(0) == double{0.001F});
}

TEST_CASE("errors of schedules") {
  CHECK(error_of("SGD: {learning_rate: -0.1}") ==
        "c.yaml:1:22: learning_rate is -0.1; give 0 or more");
  CHECK(error_of("SGD: {learning_rate: '0.1'}") ==
        "c.yaml:1:22: learning_rate must be a number, not '0.1'");
  CHECK(error_of("SGD: {learning_rate: .inf}") ==
        "c.yaml:1:22: learning_rate must be a number, not '.inf'");
  CHECK(error_of("SGD: {learning_rate: fast}") ==
        "c.yaml:1:22: there is no learning rate schedule 'fast'; known: 'CosineDecay', "
        "'cosine_decay', 'CosineDecayRestarts', 'cosine_decay_restarts', 'ExponentialDecay', "
        "'exponential_decay', 'InverseTimeDecay', 'inverse_time_decay', 'PiecewiseConstantDecay', "
        "'piecewise_constant_decay', 'PolynomialDecay', 'polynomial_decay'");
  CHECK(error_of("SGD: {learning_rate: {CosineDecay: {initial_learning_rate: 0.1, decay_steps: "
                 "0}}}") ==
        "c.yaml:1:78: schedule CosineDecay: decay_steps is 0; give more than 0");
  CHECK(
      error_of("SGD: {learning_rate: {PiecewiseConstantDecay: {boundaries: [5], values: [1]}}}") ==
      "c.yaml:1:73: schedule PiecewiseConstantDecay: 1 values for 1 boundaries; give one more "
      "value than boundaries");
  CHECK(error_of("SGD: {learning_rate: {PiecewiseConstantDecay: {boundaries: [5, 5], values: [1, "
                 "2, 3]}}}") ==
        "c.yaml:1:64: schedule PiecewiseConstantDecay: boundaries must rise, but 5 follows 5");
}
