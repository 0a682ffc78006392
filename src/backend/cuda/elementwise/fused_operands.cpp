#include "backend/cuda/elementwise/fused_operands.h"

#include <algorithm>
#include <cstdint>

#include "base/check.h"

namespace meshwork::cuda {
namespace {

using Kind = FusedOperand::Kind;

/// Bytes that a thread loads at once, at most.
constexpr std::size_t kVectorBytes = 16;
constexpr std::size_t kMostLanes = 8;

/// By shapes alone where they are equal: then one element is as large as the result too, so that a
/// variable of one element has the kernel of others.
Kind kind_of(const Shape& shape, const Shape& result, const Moves& moves) {
  if (shape == result) return Kind::kWhole;
  bool moves_somewhere = false, repeats = false;
  for (std::size_t d = 0; d < result.size(); ++d) {
    if (result[d] != 1) (moves[d] ? moves_somewhere : repeats) = true;
  }
  if (!moves_somewhere) return Kind::kOne;
  return repeats ? Kind::kRepeated : Kind::kWhole;
}

void add_inputs(const FusionGroup& group, const FusionGroup::Member& member,
                FusedOperands& operands) {
  for (std::size_t o = 0; o < member.operands.size(); ++o) {
    const std::size_t input = member.operands[o];
    if (input >= group.inputs.size()) continue;
    const TensorView& view = group.inputs[input];
    const Shape shape = broadcast_shape(member, o, view.type.shape);
    if (find_operand(operands.inputs, member, o) < operands.inputs.size()) continue;
    const Kind kind = kind_of(shape, operands.shape, moves_of(shape, operands.shape));
    operands.inputs.push_back({input, shape, view, kind});
  }
}

void find_patterns(FusedOperands& operands) {
  std::vector<Moves> patterns;
  for (FusedOperand& operand : operands.inputs) {
    if (operand.kind != Kind::kRepeated) continue;
    const Moves moves = moves_of(operand.shape, operands.shape);
    const auto known = std::find(patterns.begin(), patterns.end(), moves);
    operand.pattern = static_cast<std::size_t>(known - patterns.begin());
    if (known == patterns.end()) patterns.push_back(moves);
  }
  if (!patterns.empty()) operands.nest = merged(operands.shape, patterns);
}

std::int64_t width_of(const FusedOperands& operands) {
  std::size_t widest = 1;
  for (const FusedOperand& operand : operands.inputs) {
    if (operand.kind == Kind::kWhole) widest = std::max(widest, size_of(operand.view.type.dtype));
  }
  for (const TensorView& result : operands.results) {
    widest = std::max(widest, size_of(result.type.dtype));
  }
  return vector_width(widest);
}

}  // namespace

std::int64_t vector_width(std::size_t widest) {
  return static_cast<std::int64_t>(std::min(kMostLanes, kVectorBytes / widest));
}

/// As the kernel's Lanes of `width` elements are.
bool is_aligned(const TensorView& view, std::int64_t width) {
  const std::size_t bytes = size_of(view.type.dtype) * static_cast<std::size_t>(width);
  return reinterpret_cast<std::uintptr_t>(view.data) % std::min(kVectorBytes, bytes) == 0;
}

bool FusedOperands::are_wide() const {
  return std::all_of(inputs.begin(), inputs.end(),
                     [&](const FusedOperand& each) {
                       return each.kind != Kind::kWhole || is_aligned(each.view, width);
                     }) &&
         std::all_of(results.begin(), results.end(),
                     [&](const TensorView& each) { return is_aligned(each, width); });
}

bool FusedOperands::are_rows() const {
  if (nest.extents.empty() || nest.extents.back() % width != 0) return false;
  return std::all_of(inputs.begin(), inputs.end(), [&](const FusedOperand& each) {
    return each.kind != Kind::kRepeated || !nest.moves[each.pattern].back() ||
           is_aligned(each.view, width);
  });
}

FusedOperands operands_of(const FusionGroup& group) {
  FusedOperands operands;
  operands.shape = group.members.back().output.type.shape;
  for (const FusionGroup::Member& member : group.members) {
    if (is_constant(member) && !member.is_read) continue;
    MW_CHECK(member.output.type.shape == operands.shape, "{} in a fusion group of {}",
             to_string(member.output.type), to_string(operands.shape));
    if (!is_constant(member)) add_inputs(group, member, operands);
    if (member.is_read) operands.results.push_back(member.output);
  }
  find_patterns(operands);
  operands.width = width_of(operands);
  return operands;
}

}  // namespace meshwork::cuda
