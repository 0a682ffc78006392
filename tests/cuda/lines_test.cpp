// Softmax and its kin on GPUs: lines of few and many elements, along any axis, in place, at places
// that are not aligned, of numbers that are none.
#include <doctest/doctest.h>

#include <limits>

#include "base/rng.h"
#include "cuda/case_runs.h"
#include "cuda/fusion_run.h"
#include "cuda/placed_call.h"
#include "cuda/values.h"
#include "ops/ops.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Lines {
  Shape shape;
  std::int64_t axis;
  Attrs attrs() const { return {{"axis", axis}}; }
};

const std::vector<Lines>& many_lines() {
  static const std::vector<Lines> list{
      {{1}, 0},          {{300, 10}, 1},    {{70, 33}, 1},     {{33, 128}, 1},   {{9, 257}, 1},
      {{5, 1000}, 1},    {{2, 8192}, 1},    {{2, 8200}, 1},    {{2, 20001}, 1},  {{3, 300, 5}, 1},
      {{9, 1037}, 1},    {{5, 1026}, 1},    {{2, 5000, 3}, 1}, {{40, 7, 33}, 1}, {{4000, 2}, 0},
      {{1, 3, 700}, 1},  {{2, 5, 7, 1}, 1}, {{600, 1}, 1},     {{0, 5}, 1},      {{5, 0}, 1},
      {{2, 300, 40}, 1}, {{30, 90}, 0},
  };
  return list;
}

void check(const OpDef& op, const HostTensor& x, const Attrs& attrs, const TensorType& output,
           double tolerance) {
  const HostTensor y = check_close(op, {x}, attrs, output, tolerance);
  if (op.in_place) CHECK(call_placed(op, {x}, attrs, output, {.in_place = 0}) == y);
}

void check_all(const HostTensor& x, const Lines& lines) {
  CAPTURE(to_string(x.type));
  const double rounding = x.type.dtype == DType::kBFloat16 ? 2.0 / 256 : 2e-6;
  for (const OpDef* op : {&ops::kSoftmax, &ops::kLogSoftmax, &ops::kSparsemax}) {
    CAPTURE(op->name);
    if (is_asked_for(op->name)) check(*op, x, lines.attrs(), x.type, rounding);
  }
  Shape rest = x.type.shape;
  rest.erase(rest.begin() + lines.axis);
  if (is_asked_for("argmax")) check(ops::kArgMax, x, lines.attrs(), {DType::kInt32, rest}, 0);
}

}  // namespace

TEST_CASE("lines along any axis, short and long") {
  for (const Lines& lines : many_lines()) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      check_all(noise({dtype, lines.shape}, 11, 5), lines);
    }
  }
}

TEST_CASE("lines of numbers far apart, equal, infinite, and of none") {
  for (const std::int64_t extent : {7, 40, 600, 9000}) {
    const TensorType type{DType::kFloat32, {8, extent}};
    const HostTensor x = filled(type, [&](std::int64_t i) -> double {
      const std::int64_t line = i / extent, place = i % extent;
      const double number = 2.0 * uniform_at(5, 0, static_cast<std::uint64_t>(i)) - 1;
      if (line == 0) return 3;
      if (line == 1) return 1e6 * number;
      if (line == 2) return place == extent - 1 ? kNaN : number;
      if (line == 3) return place == 2 || place == 4 ? kNaN : number;
      if (line == 4) return place == 3 ? kInfinity : number;
      if (line == 5) return place % 2 == 0 ? -kInfinity : number;
      if (line == 6) return -kInfinity;
      return 1e4 + number;
    });
    check_all(x, {type.shape, 1});
    // The same lines side by side.
    const HostTensor turned = filled({DType::kFloat32, {extent, 8}}, [&](std::int64_t i) {
      return static_cast<double>(x.as<float>()[static_cast<std::size_t>(i % 8 * extent + i / 8)]);
    });
    check_all(turned, {turned.type.shape, 0});
  }
}

namespace {

/// d (1 where c = label, else 0, minus softmax x), 0 for a label that is no class.
HostTensor expected_gradient(const HostTensor& x, const HostTensor& labels, const HostTensor& d) {
  const std::int64_t extent = x.type.shape.back();
  const Attrs last{{"axis", static_cast<std::int64_t>(x.type.shape.size()) - 1}};
  const HostTensor softmax = call_naive(ops::kSoftmax, {x}, last, x.type);
  return filled(x.type, [&](std::int64_t i) {
    const auto row = static_cast<std::size_t>(i / extent);
    const std::int64_t label = labels.as<std::int32_t>()[row];
    const double share = softmax.as<float>()[static_cast<std::size_t>(i)];
    const double slope = (i % extent == label ? 1 : 0) - share;
    return label >= 0 && label < extent ? d.as<float>()[row] * slope : 0;
  });
}

}  // namespace

TEST_CASE("crossentropy and its gradient, with labels that are no class") {
  for (const Shape& shape :
       {Shape{1}, Shape{70, 10}, Shape{3, 4, 77}, Shape{2, 9000}, Shape{3, 16385}, Shape{9, 1000},
        Shape{0, 3}, Shape{3, 0}, Shape{900, 1}}) {
    CAPTURE(to_string(shape));
    const TensorType rows{DType::kInt32, Shape(shape.begin(), shape.end() - 1)};
    Shape column = rows.shape;
    column.push_back(1);
    const HostTensor x = noise({DType::kFloat32, shape}, 5, 4);
    const HostTensor d = noise({DType::kFloat32, column}, 7);
    const HostTensor labels = filled(
        rows, [&](std::int64_t i) { return static_cast<double>(i * 7 % (shape.back() + 2)) - 1; });
    const TensorType losses{DType::kFloat32, rows.shape};
    const HostTensor loss = call_naive(ops::kCrossentropy, {x, labels}, {}, losses);
    const HostTensor dx = expected_gradient(x, labels, d);
    for (const std::int64_t shift : {0, 1}) {
      const HostTensor y =
          call_placed(ops::kCrossentropy, {x, labels}, {}, losses, {.shift = shift});
      CHECK(difference(y, loss, 2e-6) == "");
      const auto gradient = [&](const Places& placing) {
        return call_placed(ops::kCrossentropyGradient, {x, labels, d}, {}, x.type, placing);
      };
      const HostTensor mine = gradient({.shift = shift});
      CHECK(difference(mine, dx, 1e-6) == "");
      CHECK(gradient({.shift = shift, .in_place = 0}) == mine);
      if (shape == column) CHECK(gradient({.shift = shift, .in_place = 2}) == mine);
    }
  }
}

namespace {

/// Values of a fusion group in memory of the host.
struct HostGroup {
  std::vector<HostTensor> memory;
  FusionGroup group{.kind = FusionGroup::Kind::kSiblings, .inputs = {}, .members = {}};

  TensorView view(HostTensor tensor) {
    memory.push_back(std::move(tensor));
    HostTensor& mine = memory.back();
    return {mine.type, whole_region(mine.type.shape), mine.bytes.data()};
  }
  void add(const OpDef& op, Attrs attrs, std::vector<std::size_t> operands,
           const TensorType& output) {
    group.members.push_back(
        {op.name, std::move(attrs), std::move(operands), view(host_tensor(output)), true});
  }
};

}  // namespace

TEST_CASE("crossentropy, its gradient and the greatest logit are one kernel, with the same bits") {
  for (const Shape& shape : {Shape{70, 10}, Shape{3, 4, 77}, Shape{2, 9000}, Shape{9, 1000},
                             Shape{900, 1}, Shape{0, 3}}) {
    const TensorType rows{DType::kInt32, Shape(shape.begin(), shape.end() - 1)};
    const auto last = static_cast<std::int64_t>(shape.size()) - 1;
    const HostTensor labels = filled(
        rows, [&](std::int64_t i) { return static_cast<double>(i * 7 % (shape.back() + 2)) - 1; });
    const TensorType losses{DType::kFloat32, rows.shape};
    const DType wide = DType::kFloat32, narrow = DType::kBFloat16;
    for (const auto& dtypes :
         {std::pair(wide, wide), std::pair(wide, narrow), std::pair(narrow, narrow)}) {
      const DType logit = dtypes.first, dtype = dtypes.second;
      const HostTensor x = noise({logit, shape}, 5, 4);
      for (const bool in_place : {false, true}) {
        if (in_place && dtype != logit) continue;
        CAPTURE(to_string(shape));
        CAPTURE(to_string(x.type));
        CAPTURE(to_string(dtype));
        CAPTURE(in_place);
        const Attrs of_gradient{{"d", -0.125}, {"dtype", std::string(to_string(dtype))}};
        HostGroup host;
        host.memory.reserve(8);
        host.group.inputs = {host.view(x), host.view(labels)};
        host.add(ops::kCrossentropy, {}, {0, 1}, losses);
        host.add(ops::kCrossentropyGradient, of_gradient, {0, 1}, {dtype, shape});
        host.add(ops::kArgMax, {{"axis", last}}, {0}, rows);
        if (in_place) host.group.members[1].output = host.group.inputs[0];
        for (const bool shifted : {false, true}) {
          const std::vector<HostTensor> found = run_fusion(gpu_backend(), host.group, shifted);
          const auto alone = [&](const OpDef& op, const std::vector<HostTensor>& inputs,
                                 const Attrs& attrs, const TensorType& output) {
            return call_placed(op, inputs, attrs, output, {.shift = shifted ? 1 : 0});
          };
          REQUIRE(found.size() == 3);
          CHECK(found[0] == alone(ops::kCrossentropy, {x, labels}, {}, losses));
          CHECK(found[1] ==
                alone(ops::kCrossentropyGradient, {x, labels}, of_gradient, {dtype, shape}));
          CHECK(found[2] == alone(ops::kArgMax, {x}, {{"axis", last}}, rows));
        }
      }
    }
  }
}
