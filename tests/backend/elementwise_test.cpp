#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "kernel_runner.h"
#include "support/elementwise_entries.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr DType kNumbers[] = {DType::kFloat32, DType::kInt32, DType::kInt64};

struct Broadcast {
  Shape a, b, y;
};

/// Every way in which the loops differ: merged, row, column, scalar, middle, both, nothing.
const std::vector<Broadcast> kBroadcasts = {
    {{}, {}, {}},
    {{7}, {7}, {7}},
    {{5, 13}, {5, 13}, {5, 13}},
    {{5, 13}, {13}, {5, 13}},
    {{5, 13}, {5, 1}, {5, 13}},
    {{1, 13}, {5, 1}, {5, 13}},
    {{5, 13}, {}, {5, 13}},
    {{}, {5, 13}, {5, 13}},
    {{3, 4, 5}, {3, 1, 5}, {3, 4, 5}},
    {{3, 1, 5}, {4, 1}, {3, 4, 5}},
    {{2, 3, 4, 5}, {1, 3, 1, 5}, {2, 3, 4, 5}},
    {{2, 1, 4, 1}, {3, 1, 5}, {2, 3, 4, 5}},
    {{1, 1}, {1}, {1, 1}},
    {{0, 3}, {3}, {0, 3}},
    {{4, 0}, {4, 1}, {4, 0}},
    {{70000}, {70000}, {70000}},
    {{70000}, {1}, {70000}},
    {{300, 301}, {301}, {300, 301}},
    {{300, 301}, {300, 1}, {300, 301}},
    {{3, 40000}, {40000}, {3, 40000}},
    {{20000, 4}, {20000, 1}, {20000, 4}},
};

/// The operands whose memory the result may take.
std::vector<int> replaceable(const std::vector<Tensor>& inputs, const TensorType& output) {
  std::vector<int> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].type == output) operands.push_back(static_cast<int>(i));
  }
  return operands;
}

void check_elementwise(std::string_view op, const std::vector<Tensor>& inputs, TensorType output,
                       double max_ulps = 0, const Attrs& attrs = {}) {
  check_fast(op, inputs, output, attrs, max_ulps, replaceable(inputs, output));
}

}  // namespace

TEST_CASE("fast unary kernels agree with naive ones") {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{3, 37}, Shape{90001}}) {
    Tensor x = some_floats(shape, 1);
    if (x.values.size() > 100) {
      x.values[17] = std::numeric_limits<double>::quiet_NaN();
      x.values[18] = std::numeric_limits<double>::infinity();
      x.values[19] = -std::numeric_limits<double>::infinity();
    }
    for (const ElementwiseEntry& entry : elementwise_entries()) {
      if (entry.operands != 1) continue;
      check_elementwise(entry.op->name, {x}, x.type, entry.approximates ? 2 : 0);
    }
    for (const DType dtype : {DType::kInt32, DType::kInt64}) {
      const Tensor whole = some_tensor(dtype, shape, 2);
      for (const ElementwiseEntry& entry : elementwise_entries()) {
        if (entry.operands != 1 || !entry.takes_whole_numbers()) continue;
        check_elementwise(entry.op->name, {whole}, whole.type);
      }
    }
  }
}

TEST_CASE("fast casts agree with naive ones") {
  for (const DType from : {DType::kFloat32, DType::kInt32, DType::kInt64, DType::kUInt8}) {
    for (const DType to : {DType::kFloat32, DType::kInt32, DType::kInt64, DType::kUInt8}) {
      const Attrs attrs{{"dtype", std::string(to_string(to))}};
      check_elementwise("cast", {some_tensor(from, {259}, 3)}, {to, {259}}, 0, attrs);
    }
  }
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor extreme =
      floats({6}, {inf, -inf, std::numeric_limits<double>::quiet_NaN(), 3e9, -3e9, 1e19});
  for (const DType to : {DType::kInt32, DType::kInt64, DType::kUInt8}) {
    check_elementwise("cast", {extreme}, {to, {6}});
  }
}

TEST_CASE("fast binary kernels agree with naive ones under every broadcast") {
  for (const Broadcast& shapes : kBroadcasts) {
    for (const DType dtype : kNumbers) {
      const std::vector<Tensor> inputs{some_tensor(dtype, shapes.a, 4),
                                       some_tensor(dtype, shapes.b, 5)};
      for (const ElementwiseEntry& entry : elementwise_entries()) {
        if (entry.operands != 2 || !entry.takes_whole_numbers()) continue;
        const bool is_truth = entry.types == elementwise::Types::kTruth;
        check_elementwise(entry.op->name, inputs, {is_truth ? DType::kFloat32 : dtype, shapes.y});
      }
    }
    const std::vector<Tensor> inputs{some_floats(shapes.a, 6), some_floats(shapes.b, 7)};
    for (const ElementwiseEntry& entry : elementwise_entries()) {
      if (entry.operands != 2 || entry.takes_whole_numbers()) continue;
      const bool is_power = entry.op == &elementwise::kPower;  // of libm
      check_elementwise(entry.op->name, inputs, {DType::kFloat32, shapes.y}, is_power ? 1 : 0);
    }
  }
}

TEST_CASE("fast maximum and minimum pass NaN through") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> a(40, 1.0), b(40, 2.0);
  a[3] = b[20] = nan;
  for (const auto op : {"maximum", "minimum"}) {
    const Tensor y =
        run(*make_cpu_backend(1), op, {floats({40}, a), floats({40}, b)}, {DType::kFloat32, {40}});
    CHECK(std::isnan(y.values[3]));
    CHECK(std::isnan(y.values[20]));
    CHECK(y.values[21] == (std::string_view(op) == "maximum" ? 2 : 1));
  }
}

TEST_CASE("the fast select agrees with the naive one under every broadcast") {
  for (const Broadcast& shapes : kBroadcasts) {
    for (const DType dtype : {DType::kFloat32, DType::kInt32, DType::kInt64, DType::kUInt8}) {
      Tensor condition = some_floats(shapes.y, 8);
      for (double& value : condition.values) value = value > 0 ? value : 0;
      const Tensor a = some_tensor(dtype, shapes.a, 9), b = some_tensor(dtype, shapes.b, 10);
      check_elementwise("select", {condition, a, b}, {dtype, shapes.y});
      const Tensor narrow = some_floats(shapes.b, 11);
      check_elementwise("select", {narrow, b, a}, {dtype, shapes.y});
      check_elementwise("select", {narrow, a, b}, {dtype, shapes.y});
    }
    check_elementwise("select",
                      {some_tensor(DType::kInt32, shapes.a, 12), some_floats(shapes.a, 13),
                       some_floats(shapes.b, 14)},
                      {DType::kFloat32, shapes.y});
  }
}
