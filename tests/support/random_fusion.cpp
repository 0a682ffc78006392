#include "support/random_fusion.h"

#include <algorithm>

#include "base/bfloat16.h"
#include "ops/ops.h"
#include "support/elementwise_entries.h"

namespace meshwork::testing {
namespace {

/// [.., 1, ..] or without leading dimensions: what broadcasts to `shape`.
Shape broadcast_operand(Dice& dice, Shape shape) {
  for (std::int64_t& extent : shape) {
    if (dice.chance(30)) extent = 1;
  }
  if (dice.chance(30))
    shape.erase(shape.begin(), shape.begin() + dice.below(static_cast<int>(shape.size()) + 1));
  return shape;
}

std::size_t operands_of(const OpDef& op) {
  for (const ElementwiseEntry& entry : elementwise_entries()) {
    if (entry.op == &op) return entry.operands;
  }
  return op.name == "scale_offset" ? 3 : 1;
}

/// x + (a as float32) + (n as float32) as bfloat16 as float32: a is input number `narrow`, of
/// bfloat16, n the one behind it, of whole numbers.
void add_casts(BoundFusion& fusion, const Shape& shape, std::size_t narrow, Dice& dice) {
  const auto member = [&](std::string_view op, std::vector<std::size_t> operands, DType dtype) {
    const TensorView output =
        dtype == DType::kBFloat16 ? fusion.add_narrow(shape, dice) : fusion.add(shape, dice);
    Attrs attrs;
    if (op == "cast") attrs.set("dtype", std::string(to_string(dtype)));
    fusion.args.members.push_back({op, attrs, std::move(operands), output, dice.chance(50)});
    return fusion.args.inputs.size() + fusion.args.members.size() - 1;
  };
  const std::size_t last = fusion.args.inputs.size() + fusion.args.members.size() - 1;
  const std::size_t widened = member("cast", {narrow}, DType::kFloat32);
  const std::size_t counted = member("cast", {narrow + 1}, DType::kFloat32);
  const std::size_t both = member("add", {widened, counted}, DType::kFloat32);
  const std::size_t sum = member("add", {last, both}, DType::kFloat32);
  const std::size_t rounded = member("cast", {sum}, DType::kBFloat16);
  member("cast", {rounded}, DType::kFloat32);
  fusion.args.members.back().is_read = true;
}

/// y = x - (sum of x) s t, z = y y - r + (sum of u), w = (sum of z) as bfloat16: x a member, the
/// others inputs, of which s is an element for each row, t one for all, r one for each column.
void add_row_sums(BoundFusion& fusion, const Shape& shape, Dice& dice) {
  Shape rows = shape;
  rows.back() = 1;
  const std::size_t inputs = fusion.args.inputs.size();
  const auto member = [&](std::string_view op, const Shape& of, std::vector<std::size_t> operands) {
    Attrs attrs;
    if (op == "reduce_sum") {
      attrs = {{"axes", Shape{static_cast<std::int64_t>(shape.size()) - 1}}, {"keepdims", true}};
    }
    const bool is_read = dice.chance(40);
    fusion.args.members.push_back({op, attrs, std::move(operands), fusion.add(of, dice), is_read});
    return inputs + fusion.args.members.size() - 1;
  };
  const std::size_t s = inputs - 4, t = inputs - 3, r = inputs - 2, u = inputs - 1;
  const std::size_t last = inputs + fusion.args.members.size() - 1;
  const std::size_t sum = member("reduce_sum", rows, {last});
  const std::size_t scaled = member("multiply", rows, {member("multiply", rows, {sum, s}), t});
  const std::size_t y = member("subtract", shape, {last, scaled});
  const std::size_t square = member("subtract", shape, {member("multiply", shape, {y, y}), r});
  const std::size_t z = member("add", shape, {square, member("reduce_sum", rows, {u})});
  fusion.args.members.back().is_read = true;
  const std::size_t total = member("reduce_sum", rows, {z});
  fusion.args.members.push_back(
      {"cast", {{"dtype", std::string("bfloat16")}}, {total}, fusion.add_narrow(rows, dice), true});
}

}  // namespace

TensorView BoundFusion::add(const Shape& shape, Dice& dice) {
  std::vector<float> values(static_cast<std::size_t>(num_elements(shape)) + 1);
  for (float& value : values) value = static_cast<float>(dice.between(-40, 40)) / 8;
  memory.push_back(std::move(values));
  return {.type = {DType::kFloat32, shape},
          .region = whole_region(shape),
          .data = reinterpret_cast<std::byte*>(memory.back().data())};
}

TensorView BoundFusion::add_narrow(const Shape& shape, Dice& dice) {
  TensorView view = add(shape, dice);
  const std::vector<float> wide = memory.back();
  std::transform(wide.begin(), wide.end(), view.as<BFloat16>(),
                 [](float x) { return BFloat16(x); });
  view.type.dtype = DType::kBFloat16;
  return view;
}

TensorView BoundFusion::add_whole(const Shape& shape, Dice& dice) {
  const auto count = static_cast<std::size_t>(num_elements(shape));
  const DType dtype = dice.chance(50) ? DType::kInt32 : DType::kInt64;
  memory.emplace_back(2 * count + 2);
  const TensorView view{.type = {dtype, shape},
                        .region = whole_region(shape),
                        .data = reinterpret_cast<std::byte*>(memory.back().data())};
  for (std::size_t i = 0; i < count; ++i) {
    const int number = dice.between(-40'000'000, 40'000'000);
    if (dtype == DType::kInt32) {
      view.as<std::int32_t>()[i] = number;
    } else {
      view.as<std::int64_t>()[i] = std::int64_t{number} * (1 << 20);
    }
  }
  return view;
}

std::vector<const OpDef*> fusion_ops() {
  std::vector<const OpDef*> found;
  for (const OpDef* op : ops::registry()) {
    if (op->elementwise && op != &ops::kCast) found.push_back(op);
  }
  return found;
}

namespace {

/// A member that is one number, of `shape` where others read it.
FusionGroup::Member number(Dice& dice, const Shape& shape, bool is_read) {
  const Attrs attrs{{"value", dice.between(-40, 40) / 8.0},
                    {"dtype", std::string("float32")},
                    {"shape", is_read ? shape : Shape{}}};
  return {ops::kConstant.name, attrs, {}, {}, is_read};
}

/// `rows`: with what add_row_sums() adds.
BoundFusion random_group(Dice& dice, const Shape& shape, int length,
                         const std::vector<const OpDef*>& known, bool rows) {
  BoundFusion fusion;
  fusion.memory.reserve(200);
  std::vector<FusionGroup::Member> members;
  std::vector<std::size_t> computed;  // of the members, those that are no numbers
  for (int l = 0; l < length; ++l) {
    const OpDef& op = *known[static_cast<std::size_t>(dice.below(static_cast<int>(known.size())))];
    const bool scales = op.name == "scale_offset";
    if (scales && shape.empty()) continue;
    const auto axis =
        scales ? static_cast<std::size_t>(dice.below(static_cast<int>(shape.size()))) : 0;
    FusionGroup::Member member{op.name, {}, {}, {}, true};
    if (scales) member.attrs = {{"axis", static_cast<std::int64_t>(axis)}};
    for (std::size_t o = 0; o < operands_of(op); ++o) {
      // Which of the members they are is told apart from inputs when all of these are known.
      if (!computed.empty() && dice.chance(50) && !(scales && o > 0)) {
        member.operands.push_back(1000 + dice.one_of(computed));
        continue;
      }
      // Some operand has the shape of the result.
      const bool is_last = o + 1 == operands_of(op);
      if (!is_last && !scales && dice.chance(30)) {
        member.operands.push_back(1000 + members.size());
        members.push_back(number(dice, shape, !rows && dice.chance(30)));
        continue;
      }
      const bool may_repeat = op.name == "broadcast_to" || !is_last;
      const Shape operand = scales && o > 0         ? Shape{shape[axis]}
                            : scales || !may_repeat ? shape
                                                    : broadcast_operand(dice, shape);
      member.operands.push_back(fusion.args.inputs.size());
      fusion.args.inputs.push_back(fusion.add(operand, dice));
    }
    computed.push_back(members.size());
    members.push_back(std::move(member));
  }
  const bool casts = dice.chance(50) && !members.empty();
  const std::size_t narrow = fusion.args.inputs.size();
  if (casts) {
    fusion.args.inputs.push_back(fusion.add_narrow(shape, dice));
    fusion.args.inputs.push_back(fusion.add_whole(shape, dice));
  }
  if (rows) {
    Shape row = shape, column(shape.size(), 1);
    row.back() = 1;
    column.back() = shape.back();
    for (const Shape& of : {row, Shape{}, column, shape}) {
      fusion.args.inputs.push_back(fusion.add(of, dice));
    }
  }
  for (FusionGroup::Member& member : members) {
    for (std::size_t& operand : member.operands) {
      if (operand >= 1000) operand += fusion.args.inputs.size() - 1000;
    }
    const bool is_number = member.op == ops::kConstant.name;
    member.output = fusion.add(is_number ? member.attrs.integers("shape") : shape, dice);
  }
  for (const std::size_t l : computed) {
    members[l].is_read = l + 1 == members.size() || dice.chance(40);
  }
  fusion.args.members = std::move(members);
  if (casts) add_casts(fusion, shape, narrow, dice);
  if (rows && !fusion.args.members.empty()) add_row_sums(fusion, shape, dice);
  return fusion;
}

}  // namespace

BoundFusion random_chain(Dice& dice, const Shape& shape, int length,
                         const std::vector<const OpDef*>& known) {
  return random_group(dice, shape, length, known, false);
}

BoundFusion random_rows(Dice& dice, const Shape& shape, int length,
                        const std::vector<const OpDef*>& known) {
  return random_group(dice, shape, length, known, true);
}

}  // namespace meshwork::testing
