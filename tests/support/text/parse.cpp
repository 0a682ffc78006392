#include "support/text/parse.h"

#include <algorithm>
#include <array>
#include <utility>

#include "graph/op_def.h"
#include "graph/text.h"
#include "support/text/cursor.h"

namespace meshwork::testing {
namespace {

constexpr std::array kPhases{Phase::kForward, Phase::kBackward, Phase::kUpdate, Phase::kRecompute};

CollectiveArgs collective_args(const Attrs& attrs, Collective kind) {
  CollectiveArgs args{.axes = attrs.integers("axes"), .members = attrs.integers("members")};
  const Attr* reduction = attrs.find("reduction");
  if (reduction != nullptr && attrs.text("reduction") == "max") args.reduction = Reduction::kMax;
  if (kind == Collective::kAllReduce) return args;
  args.own = attrs.integer("own");
  args.counts = attrs.integers("counts");
  if (kind == Collective::kAllToAll) args.recv_counts = attrs.integers("recv_counts");
  return args;
}

const OpDef* op_of(TextCursor& line, const LookUpOp& lookup) {
  const std::string name = line.word();
  const OpDef* op = lookup(name);
  if (op == nullptr) line.error("unknown op '{}'", name);
  return op;
}

void parse_origin(TextCursor& line, std::size_t id, Node& node) {
  line.expect("#");
  std::string last = line.at_quote() ? line.quoted_text() : line.word();
  if (!line.at_end() &&
      std::string_view(";(").find(line.rest().front()) == std::string_view::npos) {
    node.path = std::exchange(last, line.word());
  }
  const auto phase = std::find_if(kPhases.begin(), kPhases.end(),
                                  [&](Phase known) { return to_string(known) == last; });
  if (phase == kPhases.end()) {
    line.error("unknown phase '{}'; known: forward, backward, update, recompute", last);
  }
  node.phase = *phase;
  if (!line.take("(")) return;
  line.expect("of");
  node.gradient_of = line.value(id);
  line.expect(")");
}

void parse_region(TextCursor& line, Graph& graph, const Shape& local) {
  const std::size_t before = graph.nodes.size();
  if (!line.take("of")) {
    if (!graph.regions.empty()) line.error("no region, but the values above have one");
    return;
  }
  if (graph.regions.size() != before) line.error("a region, but the values above have none");
  Region region;
  region.global = line.shape();
  line.expect("at");
  region.offset = line.shape();
  if (region.global.size() != local.size() || region.offset.size() != local.size()) {
    line.error("the region {} at {} is not for {}", to_string(region.global),
               to_string(region.offset), to_string(local));
  }
  graph.regions.push_back(std::move(region));
}

void parse_node(TextCursor& line, Graph& graph, const LookUpOp& lookup,
                const ReadAnnotation& annotation) {
  const std::size_t id = graph.nodes.size();
  line.expect("%");
  if (const std::int64_t stated = line.integer(); stated != static_cast<std::int64_t>(id)) {
    line.error("%{} where %{} comes next", stated, id);
  }
  line.expect("=");
  Node node;
  node.op = op_of(line, lookup);
  line.expect("(");
  if (!line.take(")")) {
    do {
      node.inputs.push_back(line.value(id));
    } while (line.take(","));
    line.expect(")");
  }
  node.attrs = line.attrs();
  if (const Collective kind = node.op->collective; kind != Collective::kNone) {
    node.collective = collective_args(std::exchange(node.attrs, {}), kind);
  }
  line.expect(":");
  node.type = line.type();
  // As if all devices had as many.
  if (node.collective) node.collective->most_elements = num_elements(node.type.shape);
  parse_region(line, graph, node.type.shape);
  parse_origin(line, id, node);
  graph.nodes.push_back(std::move(node));
  if (line.at_end()) return;
  line.expect(";");
  if (annotation) annotation(graph.end() - 1, line.rest());
}

Variable parse_variable(TextCursor& line, const Graph& graph, const LookUpOp& lookup) {
  Variable variable;
  variable.value = line.value(graph.nodes.size());
  variable.path = line.quoted_text();
  variable.trainable = line.take("trainable");
  if (line.take("slot_of")) variable.slot_of = line.quoted_text();
  if (line.take("init")) {
    variable.init = op_of(line, lookup);
    variable.init_attrs = line.attrs();
    if (line.take("ones")) variable.ones = line.shape();
  }
  return variable;
}

NamedValue parse_named(TextCursor& line, const Graph& graph) {
  NamedValue named;
  named.name = line.quoted_text();
  line.expect("=");
  named.value = line.value(graph.nodes.size());
  return named;
}

Update parse_update(TextCursor& line, const Graph& graph) {
  Update update;
  update.variable = line.value(graph.nodes.size());
  line.expect("=");
  update.value = line.value(graph.nodes.size());
  return update;
}

ControlEdge parse_control(TextCursor& line, const Graph& graph) {
  ControlEdge edge;
  edge.before = line.value(graph.nodes.size());
  line.expect("before");
  edge.after = line.value(graph.nodes.size());
  return edge;
}

void parse_line(TextCursor& line, Graph& graph, const LookUpOp& lookup,
                const ReadAnnotation& annotation) {
  if (line.take("variable")) {
    graph.variables.push_back(parse_variable(line, graph, lookup));
  } else if (line.take("update")) {
    graph.updates.push_back(parse_update(line, graph));
  } else if (line.take("gradient")) {
    graph.gradients.push_back(parse_update(line, graph));
  } else if (line.take("output")) {
    graph.outputs.push_back(parse_named(line, graph));
  } else if (line.take("layer_output")) {
    graph.layer_outputs.push_back(parse_named(line, graph));
  } else if (line.take("control")) {
    graph.controls.push_back(parse_control(line, graph));
  } else {
    return parse_node(line, graph, lookup, annotation);
  }
  if (!line.at_end()) line.error("nothing more expected on this line");
}

}  // namespace

Graph parse(std::string_view text, const LookUpOp& lookup, const ReadAnnotation& annotation) {
  Graph graph;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    TextCursor line(text.substr(0, end), ++number);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.at_end() && !line.take("#")) parse_line(line, graph, lookup, annotation);
  }
  return graph;
}

}  // namespace meshwork::testing
