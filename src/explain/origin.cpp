#include <algorithm>

#include "explain/explain.h"
#include "graph/dim_rule.h"

namespace meshwork {
namespace {

bool shards(const Layout& layout, std::size_t dim, int axis) {
  const auto& axes = layout.dims[dim];
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

/// A dimension of a value.
struct Place {
  ValueId value = kNoValue;
  std::size_t dim = 0;
};

bool share_factor(const DimRule::Dim& a, const DimRule::Dim& b) {
  return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
}

/// The operand that brought `axis` to a dimension of the result, kNoValue if none did.
Place brought_by(const LaidOut& program, const Place& at, int axis) {
  const Node& node = program.graph.node(at.value);
  const NodeLayout& layout = program.layouts[at.value];
  const DimRule rule = rule_of(program.graph, node);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const NodeLayout& operand = program.layouts[node.inputs[i]];
    for (std::size_t d = 0; d < rule.inputs[i].size(); ++d) {
      if (!share_factor(rule.inputs[i][d], rule.output[at.dim])) continue;
      const bool brings = !operand.any_layout && shards(operand.output, d, axis);
      if (brings && shards(layout.inputs[i], d, axis)) return {node.inputs[i], d};
    }
  }
  return {};
}

class Tracer {
 public:
  Tracer(const CompileTrace& trace, ValueId start, AxisOrigin origin)
      : program_(trace.laid_out),
        pinned_(trace.pinned),
        start_(start),
        at_{start, origin.dim},
        origin_(std::move(origin)) {}

  AxisOrigin run() {
    while (!ends()) {
      const Place next = brought_by(program_, at_, origin_.axis);
      if (next.value == kNoValue) {
        finish(AxisOrigin::Kind::kChosen, node().path);
        break;
      }
      at_ = next;
    }
    return std::move(origin_);
  }

 private:
  const Node& node() const { return program_.graph.node(at_.value); }

  void finish(AxisOrigin::Kind kind, const std::string& root) {
    origin_.kind = kind;
    origin_.root = root;
    origin_.root_dim = at_.dim;
    origin_.root_rank = node().type.shape.size();
  }

  void pass(const std::string& name) {
    if (!origin_.through.empty() || at_.value == start_) return;
    origin_.through = name;
    origin_.through_dim = at_.dim;
    origin_.through_rank = node().type.shape.size();
  }

  /// Whether the way back ends here; passes the names of the place.
  bool ends() { return is_variable() || is_output_by_rule() || is_input() || is_settled(); }

  bool is_variable() {
    const auto& variables = program_.graph.variables;
    const auto found = std::find_if(variables.begin(), variables.end(),
                                    [&](const Variable& v) { return v.value == at_.value; });
    if (found == variables.end()) return false;
    pass(found->path);
    finish(AxisOrigin::Kind::kVariable, found->path);
    origin_.rule = pinned_.variables[static_cast<std::size_t>(found - variables.begin())].rule;
    return true;
  }

  bool is_output_by_rule() {
    for (const NamedValue& output : program_.graph.layer_outputs) {
      if (output.value != at_.value) continue;
      pass(output.name);
      for (const auto& [name, rule] : pinned_.output_rules) {
        if (name != output.name || at_.value == start_) continue;
        finish(AxisOrigin::Kind::kOutput, name);
        origin_.rule = rule;
        return true;
      }
    }
    return false;
  }

  bool is_input() {
    if (node().op->leaf != Leaf::kInput) return false;
    finish(AxisOrigin::Kind::kBatch, node().attrs.text("name"));
    return true;
  }

  bool is_settled() {
    const Layout& computed = program_.layouts[at_.value].computed;
    if (shards(computed, at_.dim, origin_.axis)) return false;
    finish(is_partial(computed, origin_.axis) ? AxisOrigin::Kind::kScattered
                                              : AxisOrigin::Kind::kChosen,
           node().path);
    return true;
  }

  const LaidOut& program_;
  const PinnedLayouts& pinned_;
  ValueId start_;
  Place at_;
  AxisOrigin origin_;
};

}  // namespace

AxisOrigin origin_of(const CompileTrace& trace, ValueId value, int axis, std::size_t dim) {
  AxisOrigin origin;
  origin.axis = axis;
  origin.dim = dim;
  return Tracer(trace, value, std::move(origin)).run();
}

}  // namespace meshwork
