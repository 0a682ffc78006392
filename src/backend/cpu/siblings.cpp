#include "backend/cpu/siblings.h"

#include <algorithm>

#include "base/check.h"

namespace meshwork::cpu {
namespace {

const SiblingKernel& kernel_of(const FusionGroup& group) {
  const auto found = std::ranges::find_if(sibling_kernels(), [&](const SiblingKernel& kernel) {
    return are_of(group, ops_of(kernel.ops));
  });
  MW_CHECK(found != sibling_kernels().end(), "'{}' has no siblings", group.members.front().op);
  return *found;
}

SiblingArgs args_of(const FusionGroup& group, const SiblingKernel& kernel) {
  SiblingArgs args{.inputs = operands_of_all(group),
                   .outputs = {},
                   .attrs = group.members.front().attrs,
                   .workspace = group.workspace};
  args.outputs.resize(ops_of(kernel.ops).size());
  for (const FusionGroup::Member& member : group.members) {
    // Whether it is read is known when there is memory.
    const bool is_asked_for = member.is_read || group.workspace == nullptr;
    if (is_asked_for) args.outputs.at(place_of(member.op, kernel.ops)) = member.output;
  }
  return args;
}

}  // namespace

SiblingArgs alone(const KernelArgs& args, const SiblingKernel& kernel, std::size_t place) {
  SiblingArgs result{
      .inputs = args.inputs, .outputs = {}, .attrs = args.attrs, .workspace = args.workspace};
  result.outputs.resize(ops_of(kernel.ops).size());
  result.outputs.at(place) = args.output;
  return result;
}

Launch bind_siblings(const FusionGroup& group) {
  const SiblingKernel& kernel = kernel_of(group);
  return kernel.bind(args_of(group, kernel));
}

std::int64_t siblings_workspace(const FusionGroup& group) {
  const SiblingKernel& kernel = kernel_of(group);
  return kernel.workspace(args_of(group, kernel));
}

}  // namespace meshwork::cpu
