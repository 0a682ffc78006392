#include "ops/case_lists.h"
#include "support/elementwise_entries.h"

namespace meshwork {
namespace {

using testing::ElementwiseEntry;

/// From where the operands of an op are drawn, if not from [-2, 2] (of two, [-1, 1]) everywhere.
struct Domain {
  const OpDef& op;
  std::vector<CaseInput> inputs;
  std::vector<double> kinks = {};
};

CaseInput between(double low, double high) { return uniform({}, low, high); }

Domain domain_of(const ElementwiseEntry& entry) {
  const CaseInput whole = integers(DType::kFloat32, {}, -2, 2);
  // One operand whole, the other away from whole numbers: never near each other.
  const std::vector<CaseInput> apart{whole, between(-2, 2)};
  const std::vector<double> whole_numbers{-2, -1, 0, 1, 2};
  const std::vector<Domain> domains{
      {ops::kAbs, {between(-2, 2)}, {0}},    {ops::kDivide, {between(-1, 1), between(0.5, 2)}},
      {ops::kFloor, {between(-3, 3)}},       {ops::kLog, {between(0.25, 3)}},
      {ops::kLog1p, {between(-0.7, 3)}},     {ops::kMaximum, apart, whole_numbers},
      {ops::kMinimum, apart, whole_numbers}, {ops::kPower, {between(0.4, 2), between(-2, 2)}},
      {ops::kRelu, {between(-2, 2)}, {0}},   {ops::kSigmoid, {between(-4, 4)}},
      {ops::kSoftplus, {between(-4, 4)}},    {ops::kSqrt, {between(0.25, 4)}},
      {ops::kTanh, {between(-3, 3)}},
  };
  for (const Domain& domain : domains) {
    if (&domain.op == entry.op) return domain;
  }
  if (entry.types == elementwise::Types::kTruth) return {*entry.op, {whole, whole}};
  const double bound = entry.operands == 1 ? 2 : 1;
  return {*entry.op, std::vector<CaseInput>(entry.operands, between(-bound, bound))};
}

void add_unary(std::vector<OpCase>& cases, const Domain& domain) {
  const std::vector<Shape> shapes{{}, {7}, {3, 5}, {2, 3, 4}, {2, 1, 3, 2}, {0, 3}, {67, 31}};
  for (const Shape& shape : shapes) {
    CaseInput x = domain.inputs[0];
    x.type.shape = shape;
    OpCase c = make_case(domain.op, {x}, {}, float32(shape));
    if (domain.op.grad != nullptr) c.differentiable = {0};
    c.kinks = domain.kinks;
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

/// In all combinations of shapes.
void add_binary(std::vector<OpCase>& cases, const Domain& domain) {
  for (const Broadcast& shapes : broadcasts()) {
    CaseInput a = domain.inputs[0], b = domain.inputs[1];
    a.type.shape = shapes.a;
    b.type.shape = shapes.b;
    OpCase c = make_case(domain.op, {a, b}, {}, float32(shapes.result));
    if (domain.op.grad != nullptr) c.differentiable = {0, 1};
    c.kinks = domain.kinks;
    cases.push_back(std::move(c));
  }
}

void add_binary_of_whole_numbers(std::vector<OpCase>& cases, const ElementwiseEntry& entry) {
  const bool is_truth = entry.types == elementwise::Types::kTruth;
  const int bound = is_truth ? 3 : 9;  // of few numbers some are equal
  cases.push_back(make_case(
      *entry.op,
      {integers(DType::kInt32, {3, 1}, -bound, bound), integers(DType::kInt32, {4}, -bound, bound)},
      {}, {is_truth ? DType::kFloat32 : DType::kInt32, {3, 4}}));
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
  for (const ElementwiseEntry& entry : testing::elementwise_entries()) {
    if (entry.operands == 1) add_unary(cases, domain_of(entry));
    if (entry.operands != 2) continue;
    add_binary(cases, domain_of(entry));
    if (entry.takes_whole_numbers()) add_binary_of_whole_numbers(cases, entry);
  }
  add_casts(cases);
  // Counters of steps.
  cases.push_back(make_case(ops::kAdd,
                            {integers(DType::kInt64, {}, 0, 9), integers(DType::kInt64, {}, 1, 1)},
                            {}, {DType::kInt64, {}}));
  add_select(cases);
  return cases;
}

}  // namespace meshwork
