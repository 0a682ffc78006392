#include "explain/explain.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "base/nearest.h"
#include "graph/op_def.h"
#include "graph/readers.h"

namespace meshwork {
namespace {

/// A named value before anything is known of it.
struct Named {
  std::string path;
  ValueKind kind = ValueKind::kOutput;
  ValueId laid_out = kNoValue;  ///< in the program that was laid out
  ValueId agreed = kNoValue;    ///< in that with reshards; kNoValue: nobody keeps it
  int variable = -1;            ///< index of the variable that it is, or is the gradient of
};

ValueKind kind_of(const Variable& variable) {
  if (!variable.slot_of.empty()) return ValueKind::kSlot;
  return variable.trainable ? ValueKind::kWeight : ValueKind::kState;
}

/// Gradients by the value of their variable.
std::map<ValueId, ValueId> gradients_of(const Graph& graph) {
  std::map<ValueId, ValueId> gradients;
  for (const Update& gradient : graph.gradients) {
    gradients.emplace(gradient.variable, gradient.value);
  }
  return gradients;
}

ValueId find(const std::map<ValueId, ValueId>& values, ValueId id) {
  const auto found = values.find(id);
  return found == values.end() ? kNoValue : found->second;
}

void add_variables(const CompileTrace& trace, std::vector<Named>& values) {
  const Graph& laid_out = trace.laid_out.graph;
  const Graph& agreed = trace.agreed.graph;
  const auto gradients = gradients_of(laid_out);
  const auto kept_gradients = gradients_of(agreed);
  for (std::size_t i = 0; i < laid_out.variables.size(); ++i) {
    const Variable& variable = laid_out.variables[i];
    const ValueId kept = agreed.variables[i].value;
    const int number = static_cast<int>(i);
    values.push_back({variable.path, kind_of(variable), variable.value, kept, number});
    const ValueId gradient = find(gradients, variable.value);
    if (gradient == kNoValue) continue;
    values.push_back({variable.path + "/gradient", ValueKind::kGradient, gradient,
                      find(kept_gradients, kept), number});
  }
}

/// Everything that has a path: variables with their gradients, then what layers give.
std::vector<Named> named_values(const CompileTrace& trace) {
  std::vector<Named> values;
  add_variables(trace, values);
  std::map<std::string, ValueId> kept;
  for (const NamedValue& output : trace.agreed.graph.layer_outputs) {
    kept.emplace(output.name, output.value);
  }
  for (const NamedValue& output : trace.laid_out.graph.layer_outputs) {
    const auto same = kept.find(output.name);
    values.push_back({output.name, ValueKind::kOutput, output.value,
                      same == kept.end() ? kNoValue : same->second});
  }
  return values;
}

/// "block_1/d1/kernel" -> "block_1", "block_1/d1".
void add_prefixes(const std::string& path, std::vector<std::string>& paths) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string prefix = path.substr(0, slash);
    if (std::find(paths.begin(), paths.end(), prefix) == paths.end()) paths.push_back(prefix);
  }
}

[[noreturn]] void fail_unknown(const std::string& path, const std::vector<Named>& values) {
  std::vector<std::string> known;
  for (const Named& value : values) {
    if (value.kind != ValueKind::kGradient) add_prefixes(value.path, known);
  }
  // Where nothing is near, the layers are a short enough list.
  if (nearest(path, known).empty()) {
    std::vector<std::string> all;
    for (const Named& value : values) all.push_back(value.path);
    if (!nearest(path, all).empty()) known = std::move(all);
  } else {
    for (const Named& value : values) known.push_back(value.path);
  }
  fail("command line: '{}' is no variable, gradient, layer or layer's output{}", path,
       suggestion(path, known));
}

class Explainer {
 public:
  Explainer(const CompileTrace& trace, const config::Config& config, const Mesh& mesh)
      : trace_(trace),
        config_(config),
        values_(named_values(trace)),
        gradients_(gradients_of(trace.agreed.graph)),
        users_(trace.agreed.graph),
        transfer_of_(trace.agreed.graph.nodes.size(), 0) {
    result_.transfers = transfers_of(trace.agreed, mesh);
    result_.training = !trace.agreed.graph.updates.empty();
    std::size_t transfers = 0;
    for (const ValueId id : graph().ids()) {
      if (graph().node(id).op == &kReshard) transfer_of_[id] = transfers++;
    }
  }

  Explanation run(const std::string& path) {
    const auto exact = std::find_if(values_.begin(), values_.end(),
                                    [&](const Named& value) { return value.path == path; });
    if (exact != values_.end()) {
      result_.values.push_back(describe(*exact));
    } else {
      add_layer(path);
    }
    return std::move(result_);
  }

 private:
  const Graph& graph() const { return trace_.agreed.graph; }

  /// All that stands below `path`, and the state of its weights.
  void add_layer(const std::string& path) {
    const std::string prefix = path + "/";
    for (const Named& value : values_) {
      const auto& variables = trace_.laid_out.graph.variables;
      const bool slot =
          value.kind == ValueKind::kSlot &&
          variables[static_cast<std::size_t>(value.variable)].slot_of.starts_with(prefix);
      if (slot || value.path.starts_with(prefix)) result_.values.push_back(describe(value));
    }
    if (result_.values.empty()) fail_unknown(path, values_);
    std::set<std::size_t> known;
    for (const ValueExplanation& value : result_.values) {
      for (const CausedMove& caused : value.transfers) known.insert(caused.transfer);
    }
    for (std::size_t i = 0; i < result_.transfers.size(); ++i) {
      const Transfer& transfer = result_.transfers[i];
      const auto within = [&](const std::string& layer) {
        return layer == path || layer.starts_with(prefix);
      };
      if (!known.contains(i) && (within(transfer.layer) || within(transfer.maker))) {
        result_.inside.push_back(i);
      }
    }
  }

  ValueExplanation describe(const Named& named) {
    ValueExplanation value;
    value.path = named.path;
    value.kind = named.kind;
    value.type = trace_.laid_out.graph.type(named.laid_out);
    const NodeLayout& layout = trace_.laid_out.layouts[named.laid_out];
    value.layout = layout.output;
    value.local = layout.any_layout;
    if (named.variable >= 0) {
      pin_of_variable(named, value);
    } else {
      pin_of_output(named, value);
    }
    if (named.agreed != kNoValue) add_moves(named, value);
    std::stable_sort(
        value.transfers.begin(), value.transfers.end(),
        [](const CausedMove& a, const CausedMove& b) { return a.transfer < b.transfer; });
    return value;
  }

  bool is_optimizer_rule(const config::LayoutRule& rule) const {
    const auto& rules = config_.optimizer_layout;
    return std::any_of(rules.begin(), rules.end(), [&](const config::LayoutRule& other) {
      return other.pattern == rule.pattern && other.dims == rule.dims &&
             config::to_string(other.at) == config::to_string(rule.at);
    });
  }

  void pin_of_variable(const Named& named, ValueExplanation& value) const {
    const auto& variables = trace_.laid_out.graph.variables;
    const Variable& variable = variables[static_cast<std::size_t>(named.variable)];
    if (value.kind == ValueKind::kGradient) {
      const Graph& laid_out = trace_.laid_out.graph;
      const auto slot = std::find_if(variables.begin(), variables.end(), [&](const Variable& v) {
        return v.slot_of == variable.path &&
               laid_out.type(v.value) == laid_out.type(variable.value);
      });
      value.like = slot != variables.end() ? slot->path : variable.path;
      return;
    }
    value.rule = trace_.pinned.variables[static_cast<std::size_t>(named.variable)].rule;
    value.optimizer_rule =
        value.kind == ValueKind::kSlot && value.rule && is_optimizer_rule(*value.rule);
    const bool is_of_weight =
        std::any_of(variables.begin(), variables.end(),
                    [&](const Variable& v) { return v.path == variable.slot_of; });
    const bool is_slot = value.kind == ValueKind::kSlot && is_of_weight;
    if (is_slot && !value.optimizer_rule) value.like = variable.slot_of;
  }

  void pin_of_output(const Named& named, ValueExplanation& value) const {
    const auto& rules = trace_.pinned.output_rules;
    // One value may have several names, of which another may be the one with the rule.
    for (const Named& other : values_) {
      if (other.laid_out != named.laid_out) continue;
      const auto rule = std::find_if(rules.begin(), rules.end(),
                                     [&](const auto& r) { return r.first == other.path; });
      if (rule != rules.end()) value.rule = rule->second;
    }
    if (value.rule) return;
    for (std::size_t dim = 0; dim < value.layout.dims.size(); ++dim) {
      for (const int axis : value.layout.dims[dim]) {
        value.origins.push_back(origin_of(trace_, named.laid_out, axis, dim));
      }
    }
  }

  void add_moves(const Named& named, ValueExplanation& value) const {
    std::set<ValueId> found;
    const ValueId maker = without_reshards(graph(), named.agreed);
    add_reshards(maker, TransferCause::kItself, found, value);
    if (value.kind == ValueKind::kWeight || value.kind == ValueKind::kState) {
      const ValueId gradient = find(gradients_, named.agreed);
      if (gradient != kNoValue) {
        add_reshards(without_reshards(graph(), gradient), TransferCause::kGradient, found, value);
      }
    }
    if (value.kind != ValueKind::kGradient) {
      for (const Update& update : graph().updates) {
        if (update.variable != named.agreed) continue;
        add_reshards(without_reshards(graph(), update.value), TransferCause::kNewValue, found,
                     value);
      }
    }
    if (value.kind == ValueKind::kWeight || value.kind == ValueKind::kOutput) {
      add_sums(maker, found, value);
    }
    if (value.kind == ValueKind::kOutput) add_inside(maker, found, value);
  }

  void add(ValueId reshard, TransferCause cause, std::set<ValueId>& found,
           ValueExplanation& value) const {
    if (found.insert(reshard).second) value.transfers.push_back({transfer_of_[reshard], cause});
  }

  /// `maker` and the reshards of it, one from another.
  std::vector<ValueId> versions(ValueId maker) const {
    std::vector<ValueId> all{maker};
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (const ValueId user : users_.nodes(all[i])) {
        if (graph().node(user).op == &kReshard) all.push_back(user);
      }
    }
    return all;
  }

  void add_reshards(ValueId maker, TransferCause cause, std::set<ValueId>& found,
                    ValueExplanation& value) const {
    for (const ValueId id : versions(maker)) {
      if (id != maker) add(id, cause, found, value);
    }
  }

  /// Ops that add up over a dimension which is split leave sums that are still to be combined.
  void add_sums(ValueId maker, std::set<ValueId>& found, ValueExplanation& value) const {
    for (const ValueId id : versions(maker)) {
      const Layout& have = trace_.agreed.layouts[id];
      for (const ValueId user : users_.nodes(id)) {
        if (graph().node(user).op == &kReshard) continue;
        for (const int axis : trace_.agreed.layouts[user].partial) {
          if (dim_of_axis(have, axis) >= 0) follow_partial(user, axis, found, value);
        }
      }
    }
  }

  /// Records where the partial result `from` is combined along `axis`.
  void follow_partial(ValueId from, int axis, std::set<ValueId>& found,
                      ValueExplanation& value) const {
    std::set<ValueId> seen{from};
    std::vector<ValueId> open{from};
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      for (const ValueId user : users_.nodes(id)) {
        if (is_partial(trace_.agreed.layouts[user], axis)) {
          if (seen.insert(user).second) open.push_back(user);
        } else if (graph().node(user).op == &kReshard) {
          add(user, TransferCause::kSum, found, value);
        }
      }
    }
  }

  /// What moves between the ops of the layer on the way to its output.
  void add_inside(ValueId maker, std::set<ValueId>& found, ValueExplanation& value) const {
    const std::string& layer = graph().node(maker).path;
    if (layer.empty()) return;
    for (ValueId id = 0; id < maker; ++id) {
      if (graph().node(id).op != &kReshard) continue;
      const Transfer& transfer = result_.transfers[transfer_of_[id]];
      const bool inside =
          transfer.name.empty() && transfer.maker == layer && transfer.layer == layer;
      if (inside && transfer.phase == Phase::kForward)
        add(id, TransferCause::kInside, found, value);
    }
  }

  const CompileTrace& trace_;
  const config::Config& config_;
  std::vector<Named> values_;
  std::map<ValueId, ValueId> gradients_;  ///< in the agreed program
  Readers users_;                         ///< in the agreed program
  ValueMap<std::size_t> transfer_of_;     ///< of every reshard of it
  Explanation result_;
};

}  // namespace

Explanation explain(const CompileTrace& trace, const config::Config& config, const Mesh& mesh,
                    const std::string& path) {
  return Explainer(trace, config, mesh).run(path);
}

}  // namespace meshwork
