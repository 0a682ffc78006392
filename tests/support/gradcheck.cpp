#include "support/gradcheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "ops/ops.h"
#include "support/interpreter.h"

namespace meshwork {
namespace {

/// The op alone, and its gradients given that of the result.
struct Program {
  Graph graph;
  std::vector<ValueId> inputs;
  ValueId dy = kNoValue;
  ValueId y = kNoValue;
  std::vector<ValueId> gradients;
};

Program build(const OpCase& op_case, bool with_gradients) {
  Program program;
  GraphBuilder b(program.graph);
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    program.inputs.push_back(ops::input(b, fmt::format("x{}", i), op_case.inputs[i].type));
  }
  program.y = b.add(*op_case.op, program.inputs, op_case.attrs);
  if (with_gradients) {
    program.dy = ops::input(b, "dy", op_case.output);
    b.set_phase(Phase::kBackward);
    program.gradients = op_case.op->grad(b, program.y, program.dy);
  }
  return program;
}

HostTensor weights(const OpCase& op_case) {
  HostTensor tensor = host_tensor(op_case.output);
  const std::uint64_t key = random_key(2, op_case.name);
  std::uint64_t index = 0;
  for (float& w : tensor.as<float>()) w = 2 * uniform_at(key, 0, index++) - 1;
  return tensor;
}

/// sum(y * weights), in double so that only the op itself rounds to float32.
double loss(Interpreter& forward, ValueId y, const HostTensor& dy) {
  forward.run();
  const HostTensor result = forward.read(y);
  const auto values = result.as<float>();
  const auto factors = dy.as<float>();
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += double{values[i]} * double{factors[i]};
  return sum;
}

/// d loss / d x[element], from x at +-h and +-2h: the error is h^4 / 30 of the fifth derivative.
double slope(Interpreter& forward, const Program& program, ValueId input, const HostTensor& x,
             std::size_t element, const HostTensor& dy) {
  constexpr float kStep = 1.0F / 64;
  static_assert(2 * kStep < kKinkMargin);
  HostTensor moved = x;
  const float centre = x.as<float>()[element];
  const auto at = [&](float steps) {
    moved.as<float>()[element] = centre + steps * kStep;
    forward.feed(input, moved);
    return loss(forward, program.y, dy);
  };
  const double near = at(1) - at(-1);
  const double far = at(2) - at(-2);
  forward.feed(input, x);
  return (8 * near - far) / (12 * double{kStep});
}

/// At most 40 elements, spread evenly.
std::vector<std::size_t> probes(std::size_t count) {
  constexpr std::size_t kMost = 40;
  std::vector<std::size_t> result;
  const std::size_t most = std::min(count, kMost);
  for (std::size_t i = 0; i < most; ++i) result.push_back(i * count / most);
  return result;
}

std::string check_type(const Program& program, const OpCase& op_case, std::size_t operand) {
  const ValueId gradient =
      operand < program.gradients.size() ? program.gradients[operand] : kNoValue;
  if (gradient == kNoValue) {
    return fmt::format("{}: no gradient of operand {}", op_case.name, operand);
  }
  const TensorType& type = program.graph.type(gradient);
  if (type == op_case.inputs[operand].type) return {};
  return fmt::format("{}: the gradient of operand {} is {}", op_case.name, operand,
                     to_string(type));
}

}  // namespace

std::vector<std::string> gradcheck(const OpCase& op_case, Backend& backend) {
  const Program program = build(op_case, false);
  const Program with_gradients = build(op_case, true);
  Interpreter forward(program.graph, backend);
  Interpreter backward(with_gradients.graph, backend);
  const HostTensor dy = weights(op_case);
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    const HostTensor x = draw(op_case, i);
    forward.feed(program.inputs[i], x);
    backward.feed(with_gradients.inputs[i], x);
  }
  backward.feed(with_gradients.dy, dy);
  backward.run();

  std::vector<std::string> problems;
  for (const std::size_t operand : op_case.differentiable) {
    if (auto problem = check_type(with_gradients, op_case, operand); !problem.empty()) {
      problems.push_back(std::move(problem));
      continue;
    }
    const HostTensor gradient = backward.read(with_gradients.gradients[operand]);
    const HostTensor x = draw(op_case, operand);
    for (const std::size_t element : probes(x.as<float>().size())) {
      const double expected = slope(forward, program, program.inputs[operand], x, element, dy);
      const double found = gradient.as<float>()[element];
      if (std::abs(found - expected) <= op_case.gradient_tolerance * (1 + std::abs(expected))) {
        continue;
      }
      problems.push_back(fmt::format("{}: d/dx{}[{}] is {}, but differences give {}", op_case.name,
                                     operand, element, found, expected));
    }
  }
  return problems;
}

}  // namespace meshwork
