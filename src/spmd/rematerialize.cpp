#include "spmd/rematerialize.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "graph/flops.h"
#include "graph/leaf.h"
#include "graph/op_def.h"
#include "graph/views.h"
#include "sharding/reshard.h"

namespace meshwork {
namespace {

/// A value this many times smaller than what it was computed from is kept.
constexpr std::int64_t kMuchSmaller = 8;
/// Operations per element up to which an op is light.
constexpr double kLightFlops = 8;

std::int64_t largest_operand(const Graph& graph, const Node& node) {
  std::int64_t elements = 0;
  for (const ValueId input : node.inputs) {
    elements = std::max(elements, num_elements(graph.type(input).shape));
  }
  return elements;
}

bool is_light(const Graph& graph, const Node& node) {
  const auto elements =
      static_cast<double>(std::max(num_elements(node.type.shape), largest_operand(graph, node)));
  return flops_of(graph, node) <= kLightFlops * elements;
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

class Rewriter {
 public:
  Rewriter(const LaidOut& program, const std::vector<Segment>& segments, const Mesh& mesh)
      : source_(program),
        segments_(segments),
        mesh_(mesh),
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
    for (ValueId id = 0; id < end(); ++id) {
      Node node = source_.graph.node(id);
      for (ValueId& input : node.inputs) input = operand(id, input);
      if (node.gradient_of != kNoValue) node.gradient_of = renamed_[index(node.gradient_of)];
      renamed_[index(id)] = append(std::move(node), source_.nodes[index(id)]);
    }
    copy_names();
    return std::move(result_);
  }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  ValueId end() const { return static_cast<ValueId>(count_); }
  const Node& node(ValueId id) const { return source_.graph.node(id); }

  bool sends(const Layout& from, const Layout& to, const TensorType& type) const {
    return !(from == to) && reshard_bytes(from, to, type, mesh_) > 0;
  }

  void find_candidates() {
    const SegmentPaths paths(segments_);
    for (ValueId id = 0; id < end(); ++id) {
      const Node& made = node(id);
      const std::size_t i = index(id);
      if (made.phase != Phase::kUpdate) segment_[i] = paths.of(made.path);
      if (segment_[i] < 0 || made.phase != Phase::kForward || is_leaf(made)) continue;
      const NodeLayout& layout = source_.nodes[i];
      small_[i] = is_small(made);
      const bool heavy = segments_[index(segment_[i])].light && !is_light(source_.graph, made);
      may_repeat_[i] = !small_[i] && !heavy && !sends(layout.computed, layout.output, made.type);
    }
    for (ValueId id = 0; id < end(); ++id) {
      if (node(id).phase == Phase::kForward) forbid_what_is_sent(id);
    }
  }

  /// Much smaller than what it was computed from, or computed from such values and no larger: the
  /// statistics of a batch, and the factors of its normalization.
  bool is_small(const Node& made) const {
    const std::int64_t elements = num_elements(made.type.shape);
    const std::int64_t largest = largest_operand(source_.graph, made);
    if (elements * kMuchSmaller <= largest) return true;
    const auto is_small_one = [&](ValueId id) { return small_[index(id)]; };
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
      const NodeLayout& given = source_.nodes[index(input)];
      if (given.flexible || !may_repeat_[index(input)]) continue;
      const Layout& wanted = source_.nodes[index(id)].inputs[k];
      if (sends(given.output, wanted, node(input).type)) may_repeat_[index(input)] = false;
    }
  }

  bool repeats(ValueId user, ValueId value) const {
    return may_repeat_[index(value)] && !kept_[index(value)] &&
           segment_[index(user)] == segment_[index(value)];
  }

  /// Which values are kept and which are computed again. What is kept for one segment need not be
  /// computed again in another, so it takes several rounds.
  void choose() {
    for (const NamedValue& output : source_.graph.outputs) kept_[index(output.value)] = true;
    for (const Update& update : source_.graph.updates) kept_[index(update.value)] = true;
    for (bool changed = true; changed;) {
      changed = false;
      std::fill(again_.begin(), again_.end(), false);
      for (ValueId id = end() - 1; id >= 0; --id) {
        const bool late = node(id).phase != Phase::kForward;
        if (!late && !again_[index(id)]) continue;
        for (const ValueId input : node(id).inputs) {
          if (node(input).phase != Phase::kForward) continue;
          if (repeats(id, input)) {
            again_[index(input)] = true;
          } else if (!kept_[index(input)]) {
            kept_[index(input)] = changed = true;
          }
        }
      }
    }
  }

  void count_savings() {
    std::vector<bool> counted(count_, false);
    for (ValueId id = 0; id < end(); ++id) {
      if (node(id).phase == Phase::kForward) continue;
      for (ValueId input : node(id).inputs) {
        if (!again_[index(input)]) continue;
        input = viewed(source_.graph, input);
        if (!again_[index(input)] || counted[index(input)]) continue;
        counted[index(input)] = true;
        cost(input).bytes += mean_elements(input) * static_cast<double>(size_of(dtype(input)));
      }
    }
    for (ValueId id = 0; id < end(); ++id) {
      if (!again_[index(id)]) continue;
      ++cost(id).values;
      const auto elements = static_cast<double>(num_elements(node(id).type.shape));
      if (elements > 0) {
        cost(id).flops += flops_of(source_.graph, node(id)) * mean_elements(id) / elements;
      }
    }
  }

  SegmentCost& cost(ValueId id) { return result_.costs[index(segment_[index(id)])]; }
  DType dtype(ValueId id) const { return node(id).type.dtype; }
  double mean_elements(ValueId id) const {
    return mean_local_elements(node(id).type.shape, source_.nodes[index(id)].computed, mesh_);
  }

  /// What the node `user` reads in the place of `value`.
  ValueId operand(ValueId user, ValueId value) {
    const bool late = node(user).phase != Phase::kForward;
    if (!late || !again_[index(value)] || !repeats(user, value)) return renamed_[index(value)];
    if (copies_[index(value)] == kNoValue) compute_again(value);
    return copies_[index(value)];
  }

  /// Appends the value, and before it all others that it needs and that are not there yet.
  void compute_again(ValueId wanted) {
    std::vector<ValueId> missing{wanted};
    std::vector<ValueId> stack{wanted};
    copies_[index(wanted)] = wanted;  // marked; replaced below
    while (!stack.empty()) {
      const ValueId id = stack.back();
      stack.pop_back();
      for (const ValueId input : node(id).inputs) {
        if (!repeats(id, input) || copies_[index(input)] != kNoValue) continue;
        copies_[index(input)] = input;
        missing.push_back(input);
        stack.push_back(input);
      }
    }
    std::sort(missing.begin(), missing.end());
    for (const ValueId id : missing) {
      Node copy = node(id);
      copy.phase = Phase::kAgain;
      for (ValueId& input : copy.inputs) {
        input = repeats(id, input) ? copies_[index(input)] : renamed_[index(input)];
      }
      copies_[index(id)] = append(std::move(copy), source_.nodes[index(id)]);
    }
  }

  ValueId append(Node node, NodeLayout layout) {
    result_.program.graph.nodes.push_back(std::move(node));
    result_.program.nodes.push_back(std::move(layout));
    return static_cast<ValueId>(result_.program.graph.nodes.size()) - 1;
  }

  void copy_names() {
    Graph& graph = result_.program.graph;
    result_.program.variables = source_.variables;
    const auto rename = [&](ValueId id) { return renamed_[index(id)]; };
    graph.variables = source_.graph.variables;
    for (Variable& variable : graph.variables) variable.value = rename(variable.value);
    for (const Update& update : source_.graph.updates) {
      graph.updates.push_back({rename(update.variable), rename(update.value)});
    }
    for (const Update& gradient : source_.graph.gradients) {
      graph.gradients.push_back({rename(gradient.variable), rename(gradient.value)});
    }
    for (const NamedValue& output : source_.graph.outputs) {
      graph.outputs.push_back({output.name, rename(output.value)});
    }
    for (const NamedValue& output : source_.graph.layer_outputs) {
      graph.layer_outputs.push_back({output.name, rename(output.value)});
    }
  }

  const LaidOut& source_;
  const std::vector<Segment>& segments_;
  const Mesh& mesh_;
  std::size_t count_;
  std::vector<int> segment_;      ///< of each node, -1: none
  std::vector<bool> small_;       ///< of forward values in segments
  std::vector<bool> may_repeat_;  ///< of forward values in segments
  std::vector<bool> kept_;        ///< forward values that are read later for another reason
  std::vector<bool> again_;       ///< values that are computed again
  std::vector<ValueId> renamed_;
  std::vector<ValueId> copies_;
  Rematerialized result_;
};

}  // namespace

Rematerialized rematerialize(const LaidOut& program, const std::vector<Segment>& segments,
                             const Mesh& mesh) {
  return Rewriter(program, segments, mesh).run();
}

}  // namespace meshwork
