#include "ops/case_lists.h"

namespace meshwork {
namespace {

struct Unary {
  const OpDef& op;
  double low, high;
  std::vector<double> kinks;
};

void add_unary(std::vector<OpCase>& cases, const Unary& unary) {
  const std::vector<Shape> shapes{{}, {7}, {3, 5}, {2, 3, 4}, {2, 1, 3, 2}, {0, 3}, {67, 31}};
  for (const Shape& shape : shapes) {
    OpCase c = make_case(unary.op, {uniform(shape, unary.low, unary.high)}, {}, float32(shape));
    if (unary.op.grad != nullptr) c.differentiable = {0};
    c.kinks = unary.kinks;
    cases.push_back(std::move(c));
  }
}

struct Broadcast {
  Shape a, b, result;
};

const std::vector<Broadcast>& broadcasts() {
  static const std::vector<Broadcast> list{
      {{}, {}, {}},
      {{5}, {5}, {5}},
      {{3, 4}, {4}, {3, 4}},
      {{3, 4}, {3, 1}, {3, 4}},
      {{}, {3, 2}, {3, 2}},
      {{1, 3}, {2, 1}, {2, 3}},
      {{1}, {1, 1}, {1, 1}},
      {{2, 3, 4}, {3, 1}, {2, 3, 4}},
      {{2, 3, 1, 5}, {4, 1}, {2, 3, 4, 5}},
      {{2, 0, 3}, {3}, {2, 0, 3}},
      {{67, 31}, {31}, {67, 31}},
      {{5, 7, 9}, {5, 7, 9}, {5, 7, 9}},
  };
  return list;
}

/// Operands drawn from `a` and `b`, in all combinations of shapes.
void add_binary(std::vector<OpCase>& cases, const OpDef& op, CaseInput a, CaseInput b,
                const std::vector<double>& kinks = {}) {
  for (const Broadcast& shapes : broadcasts()) {
    a.type.shape = shapes.a;
    b.type.shape = shapes.b;
    OpCase c = make_case(op, {a, b}, {}, float32(shapes.result));
    if (op.grad != nullptr) c.differentiable = {0, 1};
    c.kinks = kinks;
    cases.push_back(std::move(c));
  }
}

void add_comparisons(std::vector<OpCase>& cases) {
  for (const OpDef* op : {&ops::kEqual, &ops::kGreater, &ops::kGreaterEqual}) {
    add_binary(cases, *op, integers(DType::kFloat32, {}, -2, 2),
               integers(DType::kFloat32, {}, -2, 2));
    cases.push_back(
        make_case(*op, {integers(DType::kInt32, {4, 9}, 0, 3), integers(DType::kInt32, {9}, 0, 3)},
                  {}, float32({4, 9})));
  }
}

void add_select(std::vector<OpCase>& cases) {
  struct Shapes {
    Shape condition, a, b, result;
  };
  const std::vector<Shapes> list{
      {{}, {}, {}, {}},
      {{3, 4}, {3, 4}, {}, {3, 4}},
      {{3, 1}, {4}, {3, 4}, {3, 4}},
      {{2, 1, 3}, {5, 1}, {}, {2, 5, 3}},
      {{0, 2}, {2}, {}, {0, 2}},
      {{33, 17}, {33, 17}, {33, 17}, {33, 17}},
  };
  for (const Shapes& s : list) {
    const CaseInput condition = integers(DType::kFloat32, s.condition, 0, 1);
    cases.push_back(make_case(ops::kSelect, {condition, uniform(s.a), uniform(s.b)}, {},
                              float32(s.result), {1, 2}));
  }
  cases.push_back(make_case(ops::kSelect,
                            {integers(DType::kFloat32, {3, 4}, 0, 1),
                             integers(DType::kInt32, {4}, 0, 9), integers(DType::kInt32, {}, 0, 9)},
                            {}, {DType::kInt32, {3, 4}}));
}

void add_casts(std::vector<OpCase>& cases) {
  const auto add = [&](CaseInput input, DType to, std::vector<std::size_t> differentiable = {}) {
    const TensorType output{to, input.type.shape};
    cases.push_back(make_case(ops::kCast, {std::move(input)},
                              {{"dtype", std::string(to_string(to))}}, output,
                              std::move(differentiable)));
  };
  add(uniform({3, 5}), DType::kFloat32, {0});
  add(uniform({4, 7}, -9, 9), DType::kInt32);
  add(uniform({7}, -9, 9), DType::kInt64);
  add(uniform({7}, 0, 255), DType::kUInt8);
  add(integers(DType::kUInt8, {2, 3, 5}, 0, 255), DType::kFloat32);
  add(integers(DType::kUInt8, {9}, 0, 255), DType::kInt32);
  add(integers(DType::kInt32, {}, -9, 9), DType::kFloat32);
  add(integers(DType::kInt32, {0, 2}, -9, 9), DType::kFloat32);
  add(integers(DType::kInt64, {5}, -9, 9), DType::kInt32);
  add(integers(DType::kInt64, {5}, -9, 9), DType::kFloat32);
}

}  // namespace

std::vector<OpCase> elementwise_cases() {
  std::vector<OpCase> cases;
  const std::vector<Unary> unaries{
      {ops::kAbs, -2, 2, {0}},   {ops::kErf, -2, 2, {}},      {ops::kExp, -2, 2, {}},
      {ops::kFloor, -3, 3, {}},  {ops::kLog, 0.25, 3, {}},    {ops::kLog1p, -0.7, 3, {}},
      {ops::kNegate, -2, 2, {}}, {ops::kRelu, -2, 2, {0}},    {ops::kSigmoid, -4, 4, {}},
      {ops::kSign, -2, 2, {}},   {ops::kSoftplus, -4, 4, {}}, {ops::kSqrt, 0.25, 4, {}},
      {ops::kSquare, -2, 2, {}}, {ops::kTanh, -3, 3, {}},
  };
  for (const Unary& unary : unaries) add_unary(cases, unary);
  add_casts(cases);

  add_binary(cases, ops::kAdd, uniform({}), uniform({}));
  add_binary(cases, ops::kSubtract, uniform({}), uniform({}));
  add_binary(cases, ops::kMultiply, uniform({}), uniform({}));
  add_binary(cases, ops::kDivide, uniform({}), uniform({}, 0.5, 2));
  add_binary(cases, ops::kPower, uniform({}, 0.4, 2), uniform({}, -2, 2));
  // One operand whole, the other away from whole numbers: never near each other.
  for (const OpDef* op : {&ops::kMaximum, &ops::kMinimum}) {
    add_binary(cases, *op, integers(DType::kFloat32, {}, -2, 2), uniform({}, -2, 2),
               {-2, -1, 0, 1, 2});
  }
  // What argmax splits into.
  for (const OpDef* op : {&ops::kAdd, &ops::kSubtract, &ops::kMultiply}) {
    cases.push_back(make_case(
        *op, {integers(DType::kInt32, {3, 1}, -9, 9), integers(DType::kInt32, {4}, -9, 9)}, {},
        {DType::kInt32, {3, 4}}));
  }
  // Counters of steps.
  cases.push_back(make_case(ops::kAdd,
                            {integers(DType::kInt64, {}, 0, 9), integers(DType::kInt64, {}, 1, 1)},
                            {}, {DType::kInt64, {}}));
  add_comparisons(cases);
  add_select(cases);
  return cases;
}

}  // namespace meshwork
