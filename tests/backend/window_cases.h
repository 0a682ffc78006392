#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "kernel_runner.h"
#include "ops/case_lists.h"

namespace meshwork::testing {

inline Tensor tensor_of(const HostTensor& host) { return {host.type, {}, to_doubles(host)}; }

inline std::vector<Tensor> draw_all(const OpCase& op_case) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    inputs.push_back(tensor_of(draw(op_case, i)));
  }
  return inputs;
}

inline void check_close(const Tensor& actual, const Tensor& expected, double tolerance) {
  REQUIRE(actual.type == expected.type);
  for (std::size_t i = 0; i < actual.values.size(); ++i) {
    const double a = actual.values[i], b = expected.values[i];
    const bool close = a == b || (std::isnan(a) && std::isnan(b)) ||
                       std::abs(a - b) <= tolerance * (1 + std::abs(b));
    if (close) continue;
    FAIL_CHECK("element ", i, " is ", a, " instead of ", b);
    return;
  }
}

inline Tensor zeros(const TensorType& type) {
  return {type, {}, std::vector<double>(static_cast<std::size_t>(num_elements(type.shape)), 0)};
}

inline Tensor naive(const OpCase& op_case, const std::vector<Tensor>& inputs) {
  return run(*make_reference_backend(), op_case.op->name, inputs, op_case.output, op_case.attrs);
}

}  // namespace meshwork::testing
