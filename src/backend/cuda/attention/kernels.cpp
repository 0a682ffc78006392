#include "backend/cuda/kernels.h"

#include <algorithm>
#include <array>

#include "backend/cuda/attention/kernels.h"
#include "base/check.h"

namespace meshwork::cuda {
namespace {

using attention::Request;

/// Ops that read the same operands, and what computes those that are asked for.
struct Siblings {
  std::array<std::string_view, 3> ops;
  Launch (*bind)(const Request& request);
};

Launch gradients(const Request& request) {
  Request of_queries = request, of_keys = request;
  of_queries.outputs = {request.outputs[0]};
  of_keys.outputs = {request.outputs[1], request.outputs[2]};
  std::vector<Launch> launches;
  if (request.outputs[0] != nullptr) launches.push_back(attention::query_gradient(of_queries));
  if (request.outputs[1] != nullptr || request.outputs[2] != nullptr) {
    launches.push_back(attention::key_gradients(of_keys));
  }
  return [launches] {
    for (const Launch& launch : launches) launch();
  };
}

constexpr Siblings kForward{{"attention", "attention_log_sum"}, attention::forward};
constexpr Siblings kGradients{
    {"attention_query_gradient", "attention_key_gradient", "attention_value_gradient"}, gradients};
constexpr std::array kAll{kForward, kGradients};

std::size_t place_of(const Siblings& siblings, std::string_view op) {
  return static_cast<std::size_t>(std::find(siblings.ops.begin(), siblings.ops.end(), op) -
                                  siblings.ops.begin());
}

/// Those that a group is of; null if it is of others.
const Siblings* find(const FusionGroup& group) {
  for (const Siblings& siblings : kAll) {
    if (place_of(siblings, group.members.front().op) < siblings.ops.size()) return &siblings;
  }
  return nullptr;
}

/// The kernel of one of them alone.
template <const Siblings& kSiblings, std::size_t kPlace>
Launch alone(const KernelArgs& args) {
  Request request{.inputs = args.inputs,
                  .outputs = std::vector<std::byte*>(kSiblings.ops.size()),
                  .attrs = args.attrs,
                  .stream = &stream_of(args)};
  request.outputs[kPlace] = args.output.data;
  return kSiblings.bind(request);
}
template <const Siblings& kSiblings, std::size_t kPlace>
constexpr KernelDef one_of() {
  return {kSiblings.ops[kPlace], alone<kSiblings, kPlace>};
}

}  // namespace

std::span<const KernelDef> attention_kernels() {
  static const auto list = std::to_array<KernelDef>({
      one_of<kForward, 0>(),
      one_of<kGradients, 1>(),
      one_of<kForward, 1>(),
      one_of<kGradients, 0>(),
      one_of<kGradients, 2>(),
  });
  return list;
}

std::vector<std::string> sibling_kernels() {
  std::vector<std::string> names;
  for (const Siblings& siblings : kAll) {
    std::string& name = names.emplace_back();
    for (const std::string_view op : siblings.ops) {
      if (!op.empty()) name += (name.empty() ? "" : "+") + std::string(op);
    }
  }
  return names;
}

bool are_siblings(const FusionGroup& group) { return find(group) != nullptr; }

std::optional<Launch> bind_siblings(const FusionGroup& group, CudaStream& stream) {
  const Siblings* const siblings = find(group);
  if (siblings == nullptr) return std::nullopt;
  const FusionGroup::Member& first = group.members.front();
  Request request{.inputs = {},
                  .outputs = std::vector<std::byte*>(siblings->ops.size()),
                  .attrs = first.attrs,
                  .stream = &stream};
  for (const std::size_t operand : first.operands) {
    request.inputs.push_back(group.inputs.at(operand));
  }
  for (const FusionGroup::Member& member : group.members) {
    MW_CHECK(member.operands == first.operands, "'{}' beside '{}'", member.op, first.op);
    if (member.is_read) request.outputs.at(place_of(*siblings, member.op)) = member.output.data;
  }
  return siblings->bind(request);
}

}  // namespace meshwork::cuda
