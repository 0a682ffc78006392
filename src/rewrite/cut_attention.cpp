#include "rewrite/cut_attention.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/block_counts.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "ops/attention.h"
#include "ops/ops.h"

namespace meshwork {
namespace {

constexpr std::int64_t kSteps = 1;  // the dimension of keys and values along which they are cut

bool is_forward(const Node& node) {
  return node.op == &ops::kAttention || node.op == &ops::kAttentionLogSum;
}
bool is_gradient_of_keys(const Node& node) {
  return node.op == &ops::kAttentionKeyGradient || node.op == &ops::kAttentionValueGradient;
}

class Finder {
 public:
  Finder(const Graph& program, const Target& target)
      : program_(program), target_(target), readers_(program) {}

  std::vector<CutAttention> run() {
    using Operands = std::pair<ValueId, ValueId>;
    std::map<Operands, std::optional<CutAttention>> found;
    for (const ValueId id : program_.ids()) {
      if (!is_forward(node(id)) && !ops::is_attention_gradient(node(id))) continue;
      const Operands operands{node(id).inputs[1], node(id).inputs[2]};
      const auto [entry, is_new] = found.try_emplace(operands);
      if (is_new) entry->second = cut_attention(operands.first, operands.second);
      if (entry->second && !add(id, *entry->second)) entry->second.reset();
    }
    std::vector<CutAttention> result;
    for (auto& [operands, attention] : found) {
      if (attention) result.push_back(std::move(*attention));
    }
    return result;
  }

 private:
  const Node& node(ValueId id) const { return program_.node(id); }

  std::optional<CutAttention> cut_attention(ValueId keys, ValueId values) const {
    auto of_keys = gathered_steps(keys), of_values = gathered_steps(values);
    if (!of_keys || !of_values || of_keys->extents != of_values->extents) return std::nullopt;
    const CollectiveArgs& one = *node(of_keys->gather).collective;
    const CollectiveArgs& other = *node(of_values->gather).collective;
    const bool together =
        one.axes == other.axes && one.members == other.members && one.members.size() > 1;
    for (const ValueId whole : {keys, values}) {
      if (!together || !fills_links(whole, one) || !is_only_attended(whole, keys, values)) {
        return std::nullopt;
      }
    }
    CutAttention result;
    result.keys = std::move(*of_keys);
    result.values = std::move(*of_values);
    return result;
  }

  /// nullopt: the value is not gathered along its steps, in one go.
  std::optional<GatheredSteps> gathered_steps(ValueId whole) const {
    GatheredSteps result{.whole = whole, .gather = whole, .extents = {}};
    const Node& last = node(whole);
    if (last.op == &ops::kUnpack) {
      result.gather = last.inputs[0];
      result.extents = last.attrs.integers("extents");
      if (last.attrs.integer("dim") != kSteps || readers_.count(result.gather) != 1)
        return std::nullopt;
    }
    if (node(result.gather).op != &ops::kAllGather) return std::nullopt;
    if (result.gather == whole) {
      auto extents = outermost_extents(whole);
      if (!extents) return std::nullopt;
      result.extents = std::move(*extents);
    }
    return result;
  }

  /// Of the parts of a gathered [1, s, g, d]. Where a single member gives all of it, it may have
  /// been cut along another dimension.
  std::optional<std::vector<std::int64_t>> outermost_extents(ValueId whole) const {
    const Shape& shape = program_.type(whole).shape;
    std::vector<std::int64_t> extents = node(whole).collective->counts;
    const std::int64_t row = shape[2] * shape[3];
    if (shape[0] != 1) return std::nullopt;
    if (row == 0) {  // however it is cut
      extents[0] = shape[kSteps];
      return extents;
    }
    if (std::ranges::count(extents, 0) + 1 >= std::ssize(extents)) return std::nullopt;
    for (std::int64_t& extent : extents) extent /= row;
    return total(extents) == shape[kSteps] ? std::optional(extents) : std::nullopt;
  }

  bool fills_links(ValueId whole, const CollectiveArgs& gather) const {
    const std::int64_t bytes =
        num_bytes({program_.type(whole).dtype, program_.regions[whole].global});
    return bytes >= std::ssize(gather.members) * target_.bucket;
  }

  bool is_only_attended(ValueId whole, ValueId keys, ValueId values) const {
    return readers_.are_nodes(whole) &&
           std::ranges::all_of(readers_.nodes(whole), [&](ValueId reader) {
             const Node& attends = node(reader);
             return (is_forward(attends) || ops::is_attention_gradient(attends)) &&
                    attends.inputs[1] == keys && attends.inputs[2] == values;
           });
  }

  /// false: a gradient goes elsewhere than back to where its keys or values came from.
  bool add(ValueId id, CutAttention& to) const {
    if (is_forward(node(id))) {
      to.forward.push_back(id);
      return true;
    }
    to.gradients.push_back(id);
    if (!is_gradient_of_keys(node(id))) return true;
    const bool of_keys = node(id).op == &ops::kAttentionKeyGradient;
    const ValueId scatter = scatter_of(id, of_keys ? to.keys : to.values);
    to.scatters.emplace(id, scatter);
    return scatter != kNoValue;
  }

  /// gradient -> cast to float32, if it is not -> pack, if unpack was needed -> reduce_scatter.
  ValueId scatter_of(ValueId gradient, const GatheredSteps& of) const {
    ValueId at = readers_.only_node(gradient);
    if (at != kNoValue && node(at).op == &ops::kCast) at = readers_.only_node(at);
    if (at != kNoValue && node(at).op == &ops::kPack) {
      const Attrs& attrs = node(at).attrs;
      const bool same = attrs.integer("dim") == kSteps && attrs.integers("extents") == of.extents;
      at = same ? readers_.only_node(at) : kNoValue;
    }
    if (at == kNoValue || node(at).op != &ops::kReduceScatter) return kNoValue;
    const CollectiveArgs& back = *node(at).collective;
    const CollectiveArgs& there = *node(of.gather).collective;
    const bool same = back.axes == there.axes && back.members == there.members &&
                      back.counts == there.counts && back.reduction == Reduction::kSum;
    return same && node(at).type.dtype == DType::kFloat32 ? at : kNoValue;
  }

  const Graph& program_;
  const Target& target_;
  Readers readers_;
};

}  // namespace

std::vector<CutAttention> find_cut_attention(const Graph& program, const Target& target) {
  return Finder(program, target).run();
}

}  // namespace meshwork
