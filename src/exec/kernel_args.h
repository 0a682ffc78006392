#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "plan/plan.h"

namespace meshwork {

/// A value without its place.
TensorView unplaced(const Graph& program, ValueId id);

/// A node as the arguments of its kernel, `view` giving its values; without scratch.
template <class View>
KernelArgs kernel_args(const Graph& program, ValueId id, const View& view) {
  const Node& node = program.node(id);
  KernelArgs args{.inputs = {}, .output = view(id), .attrs = node.attrs, .workspace = nullptr};
  for (const ValueId input : node.inputs) args.inputs.push_back(view(input));
  return args;
}

/// Every kernel of a plan that stands for itself, and not in a fusion group, as it would be bound
/// in an arena at `arena`, where stored samples begin, too: nothing is read there. Those of a stack
/// come together.
using KernelStep = std::function<void(std::string_view op, const std::vector<KernelArgs>& nodes)>;
void for_each_kernel(const Plan& plan, std::byte* arena, const KernelStep& step);

}  // namespace meshwork
