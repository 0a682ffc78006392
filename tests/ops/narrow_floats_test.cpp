// Every op on floats of 16 bits: its types, and its kernels against those of float32.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>

#include "graph/dim_rule.h"
#include "ops/cases.h"
#include "ops/ops.h"
#include "support/kernel_call.h"
#include "support/shared_case.h"

using namespace meshwork;

namespace {

constexpr std::array kNarrow{DType::kBFloat16, DType::kFloat16};

/// Half a unit in the last of 8 digits, or of 11.
double rounding_of(DType dtype) { return dtype == DType::kBFloat16 ? 1.0 / 256 : 1.0 / 2048; }

HostTensor run(Backend& backend, const OpCase& op_case, const std::vector<HostTensor>& inputs) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    parts.push_back(whole_part(in_dtype(inputs[i], op_case.inputs[i].type.dtype)));
  }
  return call_kernel(backend, *op_case.op, parts, op_case.attrs, op_case.output,
                     whole_region(op_case.output.shape));
}

std::vector<HostTensor> draw_all(const OpCase& op_case) {
  std::vector<HostTensor> result;
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) result.push_back(draw(op_case, i));
  return result;
}

/// The op of the same numbers in float32. The attribute asks for nothing there.
OpCase wide(const OpCase& op_case) { return in_float32(op_case); }

void check_types(const OpCase& op_case) {
  INFO(op_case.name);
  Graph graph;
  GraphBuilder b(graph);
  std::vector<ValueId> inputs;
  for (const CaseInput& operand : op_case.inputs) {
    inputs.push_back(ops::input(b, fmt::format("x{}", inputs.size()), operand.type));
  }
  const ValueId y = append(b, op_case, inputs);
  CHECK(b.type(y) == op_case.output);
  if (op_case.op->split != nullptr) {
    CHECK(b.type(op_case.op->split(b, inputs, op_case.attrs)) == op_case.output);
  }
  if (!op_case.differentiable.empty()) {
    const ValueId dy = ops::input(b, "dy", op_case.output);
    b.set_phase(Phase::kBackward);
    const std::vector<ValueId> gradients = op_case.op->grad(b, y, dy);
    for (const std::size_t i : op_case.differentiable) {
      REQUIRE(gradients[i] != kNoValue);
      CHECK(b.type(gradients[i]) == op_case.inputs[i].type);
    }
  }
  for (const Node& node : graph.nodes) CHECK_NOTHROW(rule_of(graph, node));
  verify(graph);
}

template <class Check>
void for_each_case(const Check& check) {
  for (const DType narrow : kNarrow) {
    CHECK(narrow_cases(narrow).size() > 300);
    for (const OpCase& op_case : narrow_cases(narrow)) check(op_case, narrow);
  }
}

}  // namespace

TEST_CASE("ops of 16 bits give 16 bits, and so do their gradients") {
  for_each_case([](const OpCase& op_case, DType /*narrow*/) { check_types(op_case); });
}

TEST_CASE("the naive kernel of 16 bits is that of float32, rounded once") {
  const auto backend = make_reference_backend();
  for_each_case([&](const OpCase& op_case, DType /*narrow*/) {
    if (!has_kernel(*op_case.op)) return;
    INFO(op_case.name);
    const std::vector<HostTensor> inputs = draw_all(op_case);
    const HostTensor expected =
        in_dtype(run(*backend, wide(op_case), inputs), op_case.output.dtype);
    CHECK(difference(run(*backend, op_case, inputs), expected, 0) == "");
  });
}

TEST_CASE("the kernels of 16 bits agree with the naive ones") {
  const auto naive = make_reference_backend();
  const auto fast = make_cpu_backend(2);
  for_each_case([&](const OpCase& op_case, DType narrow) {
    if (!has_kernel(*op_case.op)) return;
    INFO(op_case.name);
    const std::vector<HostTensor> inputs = draw_all(op_case);
    const bool rounded = op_case.output.dtype == narrow;
    const double tolerance = rounded ? 2 * rounding_of(narrow) : 2 * op_case.tolerance;
    CHECK(difference(run(*fast, op_case, inputs), run(*naive, op_case, inputs), tolerance) == "");
  });
}
