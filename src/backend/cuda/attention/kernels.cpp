#include "backend/cuda/kernels.h"

#include <algorithm>
#include <array>

#include "backend/cuda/attention/cudnn/by_cudnn.h"
#include "backend/cuda/attention/kernels.h"
#include "backend/in_turn.h"
#include "backend/siblings.h"
#include "base/check.h"

namespace meshwork::cuda {
namespace {

using attention::Request;

Launch forward(const Request& request) {
  if (auto launch = attention::forward_by_cudnn(request)) return *launch;
  return attention::forward(request);
}

std::int64_t forward_workspace(const Request& request) {
  return std::max(attention::forward_workspace(request),
                  attention::cudnn_forward_workspace(request));
}

std::int64_t gradients_workspace(const Request& request) {
  return std::max(attention::deltas_workspace(request),
                  attention::cudnn_gradients_workspace(request));
}

/// Ops that read the same operands, and what computes those that are asked for.
struct Siblings {
  SiblingOps ops;
  Launch (*bind)(const Request& request);
  std::int64_t (*workspace)(const Request& request);
};

Launch gradients(const Request& request) {
  if (auto launch = attention::gradients_by_cudnn(request)) return *launch;
  Request with_deltas = request;
  std::vector<Launch> launches{attention::compute_deltas(with_deltas)};
  Request of_queries = with_deltas, of_keys = with_deltas;
  of_queries.outputs = {request.outputs[0]};
  of_keys.outputs = {request.outputs[1], request.outputs[2]};
  if (request.outputs[0] != nullptr) launches.push_back(attention::query_gradient(of_queries));
  if (request.outputs[1] != nullptr || request.outputs[2] != nullptr) {
    launches.push_back(attention::key_gradients(of_keys));
  }
  return in_turn(std::move(launches));
}

constexpr Siblings kForward{{"attention", "attention_log_sum"}, forward, forward_workspace};
constexpr Siblings kGradients{
    {"attention_query_gradient", "attention_key_gradient", "attention_value_gradient"},
    gradients,
    gradients_workspace};
constexpr std::array kAll{kForward, kGradients};

const Siblings& siblings_of(const FusionGroup& group) {
  const auto* const found = std::ranges::find_if(
      kAll, [&](const Siblings& siblings) { return are_of(group, ops_of(siblings.ops)); });
  MW_CHECK(found != kAll.end(), "'{}' has no siblings", group.members.front().op);
  return *found;
}

/// But for places in memory and the stream.
Request request_of(const Siblings& siblings, const FusionGroup& group) {
  Request request{.inputs = operands_of_all(group),
                  .asked = std::vector<bool>(ops_of(siblings.ops).size()),
                  .outputs = {},
                  .attrs = group.members.front().attrs,
                  .workspace = group.workspace};
  for (const FusionGroup::Member& member : group.members) {
    request.asked.at(place_of(member.op, siblings.ops)) = true;
  }
  return request;
}

/// Of one of them alone.
Request request_of(const Siblings& siblings, std::size_t place, const KernelArgs& args) {
  Request request{.inputs = args.inputs,
                  .asked = std::vector<bool>(ops_of(siblings.ops).size()),
                  .outputs = {},
                  .attrs = args.attrs,
                  .workspace = args.workspace};
  request.asked.at(place) = true;
  return request;
}

template <const Siblings& kSiblings, std::size_t kPlace>
Launch alone(const KernelArgs& args) {
  Request request = request_of(kSiblings, kPlace, args);
  request.stream = &stream_of(args);
  request.outputs.resize(ops_of(kSiblings.ops).size());
  request.outputs[kPlace] = args.output.data;
  return kSiblings.bind(request);
}
template <const Siblings& kSiblings, std::size_t kPlace>
std::int64_t workspace_alone(const KernelArgs& args) {
  return kSiblings.workspace(request_of(kSiblings, kPlace, args));
}
template <const Siblings& kSiblings, std::size_t kPlace>
constexpr KernelDef one_of() {
  return {kSiblings.ops[kPlace], alone<kSiblings, kPlace>, workspace_alone<kSiblings, kPlace>};
}

std::vector<std::vector<std::string>> sibling_ops() {
  std::vector<std::vector<std::string>> names;
  for (const Siblings& siblings : kAll) names.push_back(names_of(siblings.ops));
  return names;
}

Launch bind_siblings(const FusionGroup& group, CudaStream& stream) {
  const Siblings& siblings = siblings_of(group);
  Request request = request_of(siblings, group);
  request.stream = &stream;
  request.outputs.resize(ops_of(siblings.ops).size());
  for (const FusionGroup::Member& member : group.members) {
    if (member.is_read) request.outputs.at(place_of(member.op, siblings.ops)) = member.output.data;
  }
  return siblings.bind(request);
}

std::int64_t siblings_workspace(const FusionGroup& group) {
  const Siblings& siblings = siblings_of(group);
  return siblings.workspace(request_of(siblings, group));
}

}  // namespace

std::span<const KernelDef> attention_kernels() {
  static const auto list = std::to_array<KernelDef>({
      one_of<kForward, 0>(),
      one_of<kGradients, 1>(),
      one_of<kForward, 1>(),
      one_of<kGradients, 0>(),
      one_of<kGradients, 2>(),
      {"rotary", attention::rotary},
  });
  return list;
}

SiblingKernels attention_siblings() { return {sibling_ops(), bind_siblings, siblings_workspace}; }

}  // namespace meshwork::cuda
