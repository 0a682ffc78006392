#include "spmd/rematerialize.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "graph/flops.h"
#include "graph/op_def.h"
#include "graph/views.h"
#include "sharding/reshard.h"

namespace meshwork {
namespace {

/// A value this many times smaller than what it was computed from is kept.
constexpr std::int64_t kMuchSmaller = 8;

std::int64_t largest_operand(const Graph& graph, const Node& node) {
  std::int64_t elements = 0;
  for (const ValueId input : node.inputs) {
    elements = std::max(elements, num_elements(graph.type(input).shape));
  }
  return elements;
}

bool is_light(const Graph& graph, const Node& node, const Target& target) {
  const auto elements =
      static_cast<double>(std::max(num_elements(node.type.shape), largest_operand(graph, node)));
  return flops_of(graph, node) <= target.light_flops * elements;
}

/// Segments by path.
class SegmentPaths {
 public:
  explicit SegmentPaths(const std::vector<Segment>& segments) {
    for (std::size_t s = 0; s < segments.size(); ++s) {
      for (const std::string& path : segments[s].paths) by_path_.emplace(path, static_cast<int>(s));
    }
  }

  /// The segment that a path belongs to, the outermost; -1: none.
  int of(std::string_view path) const {
    for (std::size_t end = path.find('/'); end != std::string_view::npos;
         end = path.find('/', end + 1)) {
      if (const auto found = by_path_.find(path.substr(0, end)); found != by_path_.end()) {
        return found->second;
      }
    }
    const auto found = by_path_.find(path);
    return found == by_path_.end() ? -1 : found->second;
  }

 private:
  std::map<std::string, int, std::less<>> by_path_;
};

class Rematerializer {
 public:
  Rematerializer(const LaidOut& program, const std::vector<Segment>& segments, const Mesh& mesh,
                 const Target& target)
      : source_(program),
        segments_(segments),
        mesh_(mesh),
        target_(target),
        count_(program.graph.nodes.size()),
        segment_(count_, -1),
        small_(count_, false),
        may_repeat_(count_, false),
        kept_(count_, false),
        again_(count_, false),
        renamed_(count_, kNoValue),
        copies_(count_, kNoValue) {
    result_.costs.resize(segments.size());
  }

  Rematerialized run() {
    find_candidates();
    choose();
    count_savings();
    for (const ValueId id : ids()) {
      const std::vector<ValueId>& inputs = node(id).inputs;
      Node copy = remap(node(id), renamed_);
      for (std::size_t i = 0; i < inputs.size(); ++i) copy.inputs[i] = operand(id, inputs[i]);
      renamed_[id] = append(std::move(copy), source_.layouts[id]);
    }
    remap_names(source_.graph, renamed_, result_.program.graph);
    return std::move(result_);
  }

 private:
  ValueRange ids() const { return source_.graph.ids(); }
  const Node& node(ValueId id) const { return source_.graph.node(id); }

  bool sends(const Layout& from, const Layout& to, const TensorType& type) const {
    return !(from == to) && reshard_bytes(from, to, type, mesh_) > 0;
  }

  void find_candidates() {
    const SegmentPaths paths(segments_);
    for (const ValueId id : ids()) {
      const Node& made = node(id);
      if (made.phase != Phase::kUpdate) segment_[id] = paths.of(made.path);
      if (segment_[id] < 0 || made.phase != Phase::kForward || is_leaf(made)) continue;
      const NodeLayout& layout = source_.layouts[id];
      small_[id] = is_small(made);
      const bool heavy = segment(id).light && !is_light(source_.graph, made, target_);
      may_repeat_[id] = !small_[id] && !heavy && !sends(layout.computed, layout.output, made.type);
    }
    for (const ValueId id : ids()) {
      if (node(id).phase == Phase::kForward) forbid_what_is_sent(id);
    }
  }

  /// Much smaller than what it was computed from, or computed from such values and no larger: the
  /// statistics of a batch, and the factors of its normalization.
  bool is_small(const Node& made) const {
    const std::int64_t elements = num_elements(made.type.shape);
    const std::int64_t largest = largest_operand(source_.graph, made);
    if (elements * kMuchSmaller <= largest) return true;
    const auto is_small_one = [&](ValueId id) { return small_[id]; };
    const auto is_given = [&](ValueId id) { return is_leaf(node(id)) || node(id).inputs.empty(); };
    return elements <= largest &&
           std::any_of(made.inputs.begin(), made.inputs.end(), is_small_one) &&
           std::all_of(made.inputs.begin(), made.inputs.end(),
                       [&](ValueId id) { return is_small_one(id) || is_given(id); });
  }

  /// Operands that the forward node `id` takes in a layout that they must be sent for.
  void forbid_what_is_sent(ValueId id) {
    for (std::size_t k = 0; k < node(id).inputs.size(); ++k) {
      const ValueId input = node(id).inputs[k];
      const NodeLayout& given = source_.layouts[input];
      if (given.any_layout || !may_repeat_[input]) continue;
      const Layout& wanted = source_.layouts[id].inputs[k];
      if (sends(given.output, wanted, node(input).type)) may_repeat_[input] = false;
    }
  }

  bool repeats(ValueId user, ValueId value) const {
    return may_repeat_[value] && !kept_[value] && segment_[user] == segment_[value];
  }

  /// Which values are kept and which are computed again. What is kept for one segment need not be
  /// computed again in another, so it takes several rounds.
  void choose() {
    for (const NamedValue& output : source_.graph.outputs) kept_[output.value] = true;
    for (const Update& update : source_.graph.updates) kept_[update.value] = true;
    for (bool changed = true; changed;) {
      changed = false;
      again_.assign(count_, false);
      for (ValueId id = source_.graph.end() - 1; id >= 0; --id) {
        const bool late = node(id).phase != Phase::kForward;
        if (!late && !again_[id]) continue;
        for (const ValueId input : node(id).inputs) {
          if (node(input).phase != Phase::kForward) continue;
          if (repeats(id, input)) {
            again_[input] = true;
          } else if (!kept_[input]) {
            kept_[input] = changed = true;
          }
        }
      }
    }
  }

  void count_savings() {
    ValueMap<bool> counted(count_, false);
    for (const ValueId id : ids()) {
      if (node(id).phase == Phase::kForward) continue;
      for (ValueId input : node(id).inputs) {
        if (!again_[input]) continue;
        input = viewed(source_.graph, input);
        if (!again_[input] || counted[input]) continue;
        counted[input] = true;
        cost(input).bytes += mean_elements(input) * static_cast<double>(size_of(dtype(input)));
      }
    }
    for (const ValueId id : ids()) {
      if (!again_[id]) continue;
      ++cost(id).values;
      const auto elements = static_cast<double>(num_elements(node(id).type.shape));
      if (elements > 0) {
        cost(id).flops += flops_of(source_.graph, node(id)) * mean_elements(id) / elements;
      }
    }
  }

  const Segment& segment(ValueId id) const {
    return segments_[static_cast<std::size_t>(segment_[id])];
  }
  SegmentCost& cost(ValueId id) { return result_.costs[static_cast<std::size_t>(segment_[id])]; }
  DType dtype(ValueId id) const { return node(id).type.dtype; }
  double mean_elements(ValueId id) const {
    return mean_local_elements(node(id).type.shape, source_.layouts[id].computed, mesh_);
  }

  /// What the node `user` reads in the place of `value`.
  ValueId operand(ValueId user, ValueId value) {
    const bool late = node(user).phase != Phase::kForward;
    if (!late || !again_[value] || !repeats(user, value)) return renamed_[value];
    if (copies_[value] == kNoValue) compute_again(value);
    return copies_[value];
  }

  /// Appends the value, and before it all others that it needs and that are not there yet.
  void compute_again(ValueId wanted) {
    std::vector<ValueId> missing{wanted};
    std::vector<ValueId> stack{wanted};
    copies_[wanted] = wanted;  // marked; replaced below
    while (!stack.empty()) {
      const ValueId id = stack.back();
      stack.pop_back();
      for (const ValueId input : node(id).inputs) {
        if (!repeats(id, input) || copies_[input] != kNoValue) continue;
        copies_[input] = input;
        missing.push_back(input);
        stack.push_back(input);
      }
    }
    std::sort(missing.begin(), missing.end());
    for (const ValueId id : missing) {
      Node copy = node(id);
      copy.phase = Phase::kRecompute;
      for (ValueId& input : copy.inputs) {
        input = repeats(id, input) ? copies_[input] : renamed_[input];
      }
      copies_[id] = append(std::move(copy), source_.layouts[id]);
    }
  }

  ValueId append(Node node, NodeLayout layout) {
    result_.program.layouts.push_back(std::move(layout));
    return result_.program.graph.nodes.append(std::move(node));
  }

  const LaidOut& source_;
  const std::vector<Segment>& segments_;
  const Mesh& mesh_;
  const Target& target_;
  std::size_t count_;
  ValueMap<int> segment_;      ///< of each node, -1: none
  ValueMap<bool> small_;       ///< of forward values in segments
  ValueMap<bool> may_repeat_;  ///< of forward values in segments
  ValueMap<bool> kept_;        ///< forward values that are read later for another reason
  ValueMap<bool> again_;       ///< values that are computed again
  Renaming renamed_;
  Renaming copies_;
  Rematerialized result_;
};

}  // namespace

Rematerialized rematerialize(const LaidOut& program, const std::vector<Segment>& segments,
                             const Mesh& mesh, const Target& target) {
  return Rematerializer(program, segments, mesh, target).run();
}

}  // namespace meshwork
