#include "backend/cpu/siblings.h"

#include <algorithm>

#include "base/check.h"

namespace meshwork::cpu {
namespace {

std::size_t count_ops(std::string_view ops) {
  return static_cast<std::size_t>(std::count(ops.begin(), ops.end(), '+')) + 1;
}

/// Where an op stands among those of a kernel; their number if it does not.
std::size_t place_of(std::string_view op, std::string_view ops) {
  std::size_t place = 0;
  while (place < count_ops(ops) && op_at(ops, place) != op) ++place;
  return place;
}

const SiblingKernel* find(const FusionGroup& group) {
  for (const SiblingKernel& kernel : sibling_kernels()) {
    if (place_of(group.members.front().op, kernel.ops) < count_ops(kernel.ops)) return &kernel;
  }
  return nullptr;
}

SiblingArgs args_of(const FusionGroup& group, const SiblingKernel& kernel) {
  const FusionGroup::Member& first = group.members.front();
  SiblingArgs args{.inputs = {}, .outputs = {}, .attrs = first.attrs, .workspace = group.workspace};
  for (const std::size_t operand : first.operands) {
    args.inputs.push_back(group.inputs.at(operand));
  }
  args.outputs.resize(count_ops(kernel.ops));
  for (const FusionGroup::Member& member : group.members) {
    MW_CHECK(member.operands == first.operands, "'{}' beside '{}'", member.op, first.op);
    // Whether it is read is known when there is memory.
    const bool is_asked_for = member.is_read || group.workspace == nullptr;
    if (is_asked_for) args.outputs.at(place_of(member.op, kernel.ops)) = member.output;
  }
  return args;
}

}  // namespace

SiblingArgs alone(const KernelArgs& args, std::string_view ops, std::size_t place) {
  SiblingArgs result{
      .inputs = args.inputs, .outputs = {}, .attrs = args.attrs, .workspace = args.workspace};
  result.outputs.resize(count_ops(ops));
  result.outputs.at(place) = args.output;
  return result;
}

bool are_siblings(const FusionGroup& group) { return find(group) != nullptr; }

Launch bind_siblings(const FusionGroup& group) {
  const SiblingKernel& kernel = *find(group);
  return kernel.bind(args_of(group, kernel));
}

std::int64_t siblings_workspace(const FusionGroup& group) {
  const SiblingKernel& kernel = *find(group);
  return kernel.workspace(args_of(group, kernel));
}

}  // namespace meshwork::cpu
