#include "model/token_paths.h"

#include <algorithm>

#include "graph/dim_rule.h"
#include "ops/ops.h"

namespace meshwork {
namespace {

constexpr int kNone = -1;

/// What is known of a value: which dimension is that of tokens, and along which dimensions all its
/// elements are alike.
struct Known {
  int tokens = kNone;
  std::vector<bool> alike;
};

class Paths {
 public:
  Paths(const Graph& graph, const std::vector<ValueId>& sources,
        const std::vector<Recurrence>& recurrences)
      : graph_(graph), sources_(sources), recurrences_(recurrences), known_(graph.nodes.size()) {}

  std::optional<TokenMix> run(ValueId result) {
    auto next = recurrences_.begin();
    for (const ValueId id : ValueRange(0, result + 1)) {
      known_[id].alike.assign(graph_.type(id).shape.size(), false);
      if (next != recurrences_.end() && id >= next->first) {
        if (id < next->result) continue;
        known_[id].tokens = 1;
        ++next;
        continue;
      }
      if (const auto kind = visit(id)) return TokenMix{id, *kind};
    }
    if (known_[result].tokens == kNone) return TokenMix{result};
    return std::nullopt;
  }

 private:
  std::optional<TokenMix::Kind> visit(ValueId id) {
    const Node& node = graph_.node(id);
    Known& mine = known_[id];
    if (std::find(sources_.begin(), sources_.end(), id) != sources_.end()) {
      mine.tokens = 1;
      return std::nullopt;
    }
    if (node.op == &ops::kConstant) mine.alike.assign(mine.alike.size(), true);
    if (node.inputs.empty()) return std::nullopt;
    if (node.op == &ops::kWriteRows) {
      const int rows = known_[node.inputs[1]].tokens;
      if (rows == 1 || rows == kNone) return std::nullopt;
      return TokenMix::Kind::kMixes;
    }
    const DimRule rule = rule_of(graph_, node);
    const int tokens = tokens_of(node, rule);
    if (tokens == kMixed) return TokenMix::Kind::kMixes;
    if (tokens != kNone) {
      mine.tokens = DimRule::dim_of(rule.output, tokens);
      if (mine.tokens == kNone) return TokenMix::Kind::kMixes;
      if (has_places(node, rule, tokens)) return TokenMix::Kind::kIsPlaced;
    }
    find_alike(node, rule, mine);
    return std::nullopt;
  }

  static constexpr int kMixed = -2;

  /// The factor of tokens in a rule, kNone, or kMixed.
  int tokens_of(const Node& node, const DimRule& rule) const {
    int found = kNone;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const int tokens = known_[node.inputs[i]].tokens;
      if (tokens == kNone) continue;
      const auto dim = static_cast<std::size_t>(tokens);
      const int factor = DimRule::major_factor(rule.inputs[i], dim);
      if (factor < 0 || rule.factors[static_cast<std::size_t>(factor)].whole) return kMixed;
      if (rule.reaches[i][dim] || (found != kNone && found != factor)) return kMixed;
      found = factor;
    }
    return found;
  }

  /// Whether an operand that has nothing of the tokens differs from place to place.
  bool has_places(const Node& node, const DimRule& rule, int tokens) const {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Known& other = known_[node.inputs[i]];
      if (other.tokens != kNone || !DimRule::contains(rule.inputs[i], tokens)) continue;
      const int dim = DimRule::dim_of(rule.inputs[i], tokens);
      if (dim < 0 || !other.alike[static_cast<std::size_t>(dim)]) return true;
    }
    return false;
  }

  /// Dimensions along which all operands that have them are alike; those that a broadcast adds.
  void find_alike(const Node& node, const DimRule& rule, Known& mine) const {
    for (std::size_t d = 0; d < mine.alike.size(); ++d) {
      if (static_cast<int>(d) == mine.tokens) continue;
      bool is_there = false, alike = true;
      for (const int factor : rule.output[d]) {
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
          if (!DimRule::contains(rule.inputs[i], factor)) continue;
          is_there = true;
          const int dim = DimRule::dim_of(rule.inputs[i], factor);
          alike = alike && dim >= 0 && known_[node.inputs[i]].alike[static_cast<std::size_t>(dim)];
        }
      }
      mine.alike[d] = is_there ? alike : node.op == &ops::kBroadcastTo;
    }
  }

  const Graph& graph_;
  const std::vector<ValueId>& sources_;
  const std::vector<Recurrence>& recurrences_;
  ValueMap<Known> known_;
};

}  // namespace

std::optional<TokenMix> find_token_mix(const Graph& graph, const std::vector<ValueId>& sources,
                                       const std::vector<Recurrence>& recurrences, ValueId result) {
  return Paths(graph, sources, recurrences).run(result);
}

}  // namespace meshwork
