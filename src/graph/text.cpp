#include "graph/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/check.h"
#include "graph/op_def.h"

namespace meshwork {
namespace {

/// A path as it stands where it is one word, else in quotes.
std::string path_text(const std::string& path) {
  const bool plain = std::all_of(path.begin(), path.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_./:+-").find(c) != std::string_view::npos;
  });
  return plain ? path : quoted(path);
}

/// As attributes: that is how they are written.
Attrs attrs_of(const CollectiveArgs& args, Collective kind) {
  Attrs attrs{{"axes", args.axes}, {"members", args.members}};
  if (kind == Collective::kAllReduce || kind == Collective::kReduceScatter) {
    attrs.set("reduction", std::string(to_string(args.reduction)));
  }
  if (kind == Collective::kAllReduce) return attrs;
  attrs.set("own", args.own);
  attrs.set("counts", args.counts);
  if (kind == Collective::kAllToAll) attrs.set("recv_counts", args.recv_counts);
  return attrs;
}

std::string spaced(const std::string& text) { return text.empty() ? "" : " " + text; }

std::string node_text(const Graph& graph, ValueId id) {
  const Node& node = graph.node(id);
  std::string text = fmt::format("%{} = {}(", id, node.op->name);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    text += fmt::format("{}%{}", i > 0 ? ", " : "", node.inputs[i]);
  }
  text += fmt::format("){} : {}", spaced(attrs_text(node)), to_string(node.type));
  if (!graph.regions.empty()) {
    const Region& region = graph.regions[id];
    text += fmt::format(" of {} at {}", to_string(region.global), to_string(region.offset));
  }
  text += fmt::format("  #{} {}", spaced(path_text(node.path)), to_string(node.phase));
  if (node.gradient_of != kNoValue) text += fmt::format(" (of %{})", node.gradient_of);
  return text;
}

std::string variable_text(const Variable& variable) {
  std::string text = fmt::format("variable %{} {}", variable.value, quoted(variable.path));
  if (variable.trainable) text += " trainable";
  if (variable.is_cache) text += " cache";
  if (!variable.slot_of.empty()) text += " slot_of " + quoted(variable.slot_of);
  if (variable.init != nullptr) {
    text += fmt::format(" init {}{}", variable.init->name, spaced(to_string(variable.init_attrs)));
    if (!variable.ones.empty()) text += " ones " + to_string(variable.ones);
  }
  return text;
}

}  // namespace

std::string_view to_string(Phase phase) {
  constexpr std::array<std::string_view, 4> kNames{"forward", "backward", "update", "recompute"};
  return kNames[static_cast<std::size_t>(phase)];
}

std::string attrs_text(const Node& node) {
  return to_string(node.collective ? attrs_of(*node.collective, node.op->collective) : node.attrs);
}

std::string print(const Graph& graph, const Annotate& annotate) {
  MW_CHECK(graph.regions.empty() || graph.regions.size() == graph.nodes.size());
  std::string text;
  for (const ValueId id : graph.ids()) {
    text += node_text(graph, id);
    const std::string extra = annotate ? annotate(id) : "";
    if (!extra.empty()) text += "  ; " + extra;
    text += '\n';
  }
  for (const Variable& variable : graph.variables) text += variable_text(variable) + '\n';
  for (const Update& update : graph.updates) {
    text += fmt::format("update %{} = %{}\n", update.variable, update.value);
  }
  for (const Update& gradient : graph.gradients) {
    text += fmt::format("gradient %{} = %{}\n", gradient.variable, gradient.value);
  }
  for (const NamedValue& output : graph.outputs) {
    text += fmt::format("output {} = %{}{}\n", quoted(output.name), output.value,
                        output.whole ? " whole" : "");
  }
  for (const NamedValue& output : graph.layer_outputs) {
    text += fmt::format("layer_output {} = %{}\n", quoted(output.name), output.value);
  }
  for (const ControlEdge& edge : graph.controls) {
    text += fmt::format("control %{} before %{}\n", edge.before, edge.after);
  }
  return text;
}

}  // namespace meshwork
