// What ops claim of themselves, held against the naive kernels: gradients, split forms, linearity,
// and that the dimension rule tells what each device may compute on its own.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/cases.h"
#include "ops/ops.h"
#include "support/gradcheck.h"
#include "support/interpreter.h"
#include "support/kernel_call.h"
#include "support/shared_case.h"

using namespace meshwork;

namespace {

std::vector<HostTensor> draw_all(const OpCase& op_case) {
  std::vector<HostTensor> result;
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) result.push_back(draw(op_case, i));
  return result;
}

HostTensor run_whole(Backend& backend, const OpCase& op_case,
                     const std::vector<HostTensor>& inputs) {
  std::vector<Part> parts;
  for (const HostTensor& input : inputs) parts.push_back(whole_part(input));
  return call_kernel(backend, *op_case.op, parts, op_case.attrs, op_case.output,
                     whole_region(op_case.output.shape));
}

HostTensor combined(HostTensor a, const HostTensor& b, float (*combine)(float, float)) {
  std::transform(a.as<float>().begin(), a.as<float>().end(), b.as<float>().begin(),
                 a.as<float>().begin(), combine);
  return a;
}

float sum(float a, float b) { return a + b; }
float greater(float a, float b) { return std::max(a, b); }

/// Other operands of a case: the drawn ones, shuffled by a rotation of one element.
HostTensor rotated(HostTensor tensor) {
  auto elements = tensor.as<float>();
  if (!elements.empty()) std::rotate(elements.begin(), elements.begin() + 1, elements.end());
  return tensor;
}

/// Together the two devices must give what one device gives.
void check_shared(Backend& backend, const OpCase& op_case, const SharedCase& shared,
                  const HostTensor& whole) {
  std::vector<HostTensor> partials;
  for (const DeviceCall& call : shared.devices) {
    HostTensor result =
        call_kernel(backend, *op_case.op, call.inputs, op_case.attrs, call.output, call.region);
    if (shared.partial) {
      partials.push_back(std::move(result));
    } else {
      CHECK(difference(result, cut(whole, call.region.offset, call.output.shape), 1e-5) == "");
    }
  }
  if (shared.partial && op_case.output.dtype == DType::kFloat32) {
    const bool max = op_case.op->reduction == Reduction::kMax;
    CHECK(difference(combined(partials[0], partials[1], max ? greater : sum), whole, 1e-5) == "");
  }
}

/// The gradient of the only operand, whose elements are `x`, for dy = 1.
std::vector<float> slope_at(Backend& backend, const OpDef& op, const std::vector<float>& x,
                            const Attrs& attrs = {}) {
  Graph graph;
  GraphBuilder b(graph);
  const Shape shape{static_cast<std::int64_t>(x.size())};
  const ValueId input = ops::input(b, "x", {DType::kFloat32, shape});
  const ValueId y = b.add(op, {input}, attrs);
  const ValueId dy = ops::broadcast_to(b, ops::constant(b, 1.0), b.shape(y));
  const ValueId dx = op.grad(b, y, dy)[0];
  Interpreter interpreter(graph, backend);
  interpreter.feed(input, host_tensor(shape, x));
  interpreter.run();
  const HostTensor result = interpreter.read(dx);
  return {result.as<float>().begin(), result.as<float>().end()};
}

/// Gradients of both operands, both scalars, for dy = 1.
std::vector<float> slopes_at(Backend& backend, const OpDef& op, float x0, float x1) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId y = b.add(op, {ops::constant(b, x0), ops::constant(b, x1)});
  const std::vector<ValueId> gradients = op.grad(b, y, ops::constant(b, 1.0));
  Interpreter interpreter(graph, backend);
  interpreter.run();
  return {interpreter.read(gradients[0]).as<float>()[0],
          interpreter.read(gradients[1]).as<float>()[0]};
}

HostTensor apply(Backend& backend, const OpDef& op, const std::vector<float>& x) {
  const HostTensor input = host_tensor({static_cast<std::int64_t>(x.size())}, x);
  return call_kernel(backend, op, {whole_part(input)}, {}, input.type,
                     whole_region(input.type.shape));
}

}  // namespace

TEST_CASE("gradients agree with finite differences") {
  const auto backend = make_reference_backend();
  for (const OpCase& op_case : op_cases()) {
    if (op_case.differentiable.empty()) continue;
    for (const std::string& problem : gradcheck(op_case, *backend)) FAIL_CHECK(problem);
  }
}

TEST_CASE("split forms give what the op gives") {
  const auto backend = make_reference_backend();
  for (const OpCase& op_case : op_cases()) {
    if (op_case.op->split == nullptr) continue;
    INFO(op_case.name);
    Graph graph;
    GraphBuilder b(graph);
    const ValueId x = ops::input(b, "x", op_case.inputs[0].type);
    const ValueId whole = b.add(*op_case.op, {x}, op_case.attrs);
    const ValueId split = op_case.op->split(b, std::vector<ValueId>{x}, op_case.attrs);
    Interpreter interpreter(graph, *backend);
    interpreter.feed(x, draw(op_case, 0));
    interpreter.run();
    CHECK(difference(interpreter.read(split), interpreter.read(whole), 1e-6) == "");
  }
}

TEST_CASE("partial sums may pass where the op says it is linear") {
  const auto backend = make_reference_backend();
  for (const OpCase& op_case : op_cases()) {
    const Linear linear = op_case.op->linear;
    const bool floats =
        std::all_of(op_case.inputs.begin(), op_case.inputs.end(), [&](const CaseInput& operand) {
          return operand.type.dtype == DType::kFloat32 || linear == Linear::kFirst;
        });
    if (linear == Linear::kNo || !floats || op_case.output.dtype != DType::kFloat32) continue;
    INFO(op_case.name);
    const std::size_t count = linear == Linear::kEach ? op_case.inputs.size() : 1;
    for (std::size_t operand = 0; operand < count; ++operand) {
      const std::vector<HostTensor> a = draw_all(op_case);
      std::vector<HostTensor> b = a;
      std::vector<HostTensor> both = a;
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (linear != Linear::kJointly && i != operand) continue;
        b[i] = rotated(a[i]);
        both[i] = combined(a[i], b[i], sum);
      }
      const HostTensor apart =
          combined(run_whole(*backend, op_case, a), run_whole(*backend, op_case, b), sum);
      CHECK(difference(run_whole(*backend, op_case, both), apart, 1e-5) == "");
    }
  }
}

TEST_CASE("two devices that share a factor of the rule give what one device gives") {
  const auto backend = make_reference_backend();
  int checked = 0;
  for (const OpCase& op_case : op_cases()) {
    if (!has_kernel(*op_case.op)) continue;
    INFO(op_case.name);
    const std::vector<HostTensor> inputs = draw_all(op_case);
    const HostTensor whole = run_whole(*backend, op_case, inputs);
    for (const SharedCase& shared : shared_cases(op_case, inputs)) {
      INFO(shared.factor);
      ++checked;
      check_shared(*backend, op_case, shared, whole);
    }
  }
  CHECK(checked > 600);
}

TEST_CASE("gradients where functions are not smooth are Keras's") {
  const auto backend = make_reference_backend();
  using Floats = std::vector<float>;
  CHECK(slope_at(*backend, ops::kRelu, {-1, 0, 2}) == Floats{0, 0, 1});
  CHECK(slope_at(*backend, ops::kAbs, {-1, 0, 2}) == Floats{-1, 0, 1});
  CHECK(slopes_at(*backend, ops::kMaximum, 3, 3) == Floats{0.5, 0.5});
  CHECK(slopes_at(*backend, ops::kMaximum, 4, 3) == Floats{1, 0});
  CHECK(slopes_at(*backend, ops::kMinimum, 3, 3) == Floats{0.5, 0.5});
  CHECK(slopes_at(*backend, ops::kMinimum, 4, 3) == Floats{0, 1});
  CHECK(slopes_at(*backend, ops::kPower, 0, 0) == Floats{0, 0});
  CHECK(slopes_at(*backend, ops::kPower, -3, 2) == Floats{-6, 0});
  CHECK(slopes_at(*backend, ops::kPower, 0, 3) == Floats{0, 0});
  const Attrs all{{"axes", std::vector<std::int64_t>{0}}, {"keepdims", false}};
  CHECK(slope_at(*backend, ops::kReduceMax, {5, 1, 5, 2}, all) == Floats{0.5, 0, 0.5, 0});
}

TEST_CASE("extremes stay finite") {
  const auto backend = make_reference_backend();
  CHECK(difference(apply(*backend, ops::kSoftplus, {-200, 0, 200}),
                   host_tensor({3}, std::vector<float>{0, std::log(2.0F), 200}), 1e-6) == "");
  CHECK(difference(apply(*backend, ops::kSigmoid, {-200, 0, 200}),
                   host_tensor({3}, std::vector<float>{0, 0.5, 1}), 1e-6) == "");
  CHECK(apply(*backend, ops::kLog1p, {1e-10F}).as<float>()[0] == doctest::Approx(1e-10));
  const auto slopes = slope_at(*backend, ops::kSoftplus, {-200, 200});
  CHECK(slopes[0] == doctest::Approx(0));
  CHECK(slopes[1] == doctest::Approx(1));
}

TEST_CASE("argmax takes the lowest of equal places, or the first NaN, whole and split") {
  const auto backend = make_reference_backend();
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = ops::input(b, "x", {DType::kFloat32, {6, 4}});
  const Attrs attrs{{"axis", std::int64_t{1}}};
  const ValueId whole = b.add(ops::kArgMax, {x}, attrs);
  const ValueId split = ops::kArgMax.split(b, std::vector<ValueId>{x}, attrs);
  Interpreter interpreter(graph, *backend);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  interpreter.feed("x", host_tensor({6, 4}, std::vector<float>{1, 7, 7, 0,   5,   5,   5,   5,
                                                               1, 2, 3, 4,   1,   nan, 7,   nan,
                                                               2, 1, 0, nan, nan, nan, nan, nan}));
  interpreter.run();
  const HostTensor expected = host_tensor({6}, std::vector<std::int32_t>{1, 0, 3, 1, 3, 0});
  CHECK(difference(interpreter.read(whole), expected, 0) == "");
  CHECK(difference(interpreter.read(split), expected, 0) == "");
}
