#include "graph/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/check.h"
#include "graph/op_def.h"
#include "graph/text_cursor.h"

namespace meshwork {
namespace {

using Lookup = std::function<const OpDef*(std::string_view)>;

constexpr std::array<std::pair<Phase, std::string_view>, 4> kPhases{{
    {Phase::kForward, "forward"},
    {Phase::kBackward, "backward"},
    {Phase::kUpdate, "update"},
    {Phase::kAgain, "again"},
}};

/// A path as it stands where TextCursor::word can read it, else in quotes.
std::string path_text(const std::string& path) {
  const bool plain = std::all_of(path.begin(), path.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_./:+-").find(c) != std::string_view::npos;
  });
  return plain ? path : quoted(path);
}

std::string spaced(const std::string& text) { return text.empty() ? "" : " " + text; }

std::string node_text(const Graph& graph, ValueId id) {
  const Node& node = graph.node(id);
  std::string text = fmt::format("%{} = {}(", id, node.op->name);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    text += fmt::format("{}%{}", i > 0 ? ", " : "", node.inputs[i]);
  }
  text += fmt::format("){} : {}", spaced(to_string(node.attrs)), to_string(node.type));
  if (!graph.windows.empty()) {
    const Window& window = graph.windows[static_cast<std::size_t>(id)];
    text += fmt::format(" of {} at {}", to_string(window.global), to_string(window.offset));
  }
  return text + fmt::format("  #{} {}", spaced(path_text(node.path)),
                            kPhases[static_cast<std::size_t>(node.phase)].second);
}

std::string variable_text(const Variable& variable) {
  std::string text = fmt::format("variable %{} {}", variable.value, quoted(variable.path));
  if (variable.trainable) text += " trainable";
  if (!variable.slot_of.empty()) text += " slot_of " + quoted(variable.slot_of);
  if (variable.init != nullptr) {
    text += fmt::format(" init {}{}", variable.init->name, spaced(to_string(variable.init_attrs)));
  }
  return text;
}

const OpDef* op_of(TextCursor& line, const Lookup& lookup) {
  const std::string name = line.word();
  const OpDef* op = lookup(name);
  if (op == nullptr) line.error("unknown op '{}'", name);
  return op;
}

void parse_path_and_phase(TextCursor& line, Node& node) {
  line.expect("#");
  std::string last = line.at_quote() ? line.quoted_text() : line.word();
  if (!line.at_end() && !line.take(";")) {
    node.path = std::exchange(last, line.word());
    if (!line.at_end()) line.expect(";");
  }
  const auto* phase =
      std::find_if(kPhases.begin(), kPhases.end(), [&](const auto& p) { return p.second == last; });
  if (phase == kPhases.end()) {
    line.error("unknown phase '{}'; known: forward, backward, update, again", last);
  }
  node.phase = phase->first;
}

void parse_window(TextCursor& line, Graph& graph, const Shape& local) {
  const std::size_t before = graph.nodes.size();
  if (!line.take("of")) {
    if (!graph.windows.empty()) line.error("no window, but the values above have one");
    return;
  }
  if (graph.windows.size() != before) line.error("a window, but the values above have none");
  Window window;
  window.global = line.shape();
  line.expect("at");
  window.offset = line.shape();
  if (window.global.size() != local.size() || window.offset.size() != local.size()) {
    line.error("the window {} at {} is not for {}", to_string(window.global),
               to_string(window.offset), to_string(local));
  }
  graph.windows.push_back(std::move(window));
}

void parse_node(TextCursor& line, Graph& graph, const Lookup& lookup) {
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
  line.expect(":");
  node.type = line.type();
  parse_window(line, graph, node.type.shape);
  parse_path_and_phase(line, node);
  graph.nodes.push_back(std::move(node));
}

Variable parse_variable(TextCursor& line, const Graph& graph, const Lookup& lookup) {
  Variable variable;
  variable.value = line.value(graph.nodes.size());
  variable.path = line.quoted_text();
  variable.trainable = line.take("trainable");
  if (line.take("slot_of")) variable.slot_of = line.quoted_text();
  if (line.take("init")) {
    variable.init = op_of(line, lookup);
    variable.init_attrs = line.attrs();
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

void parse_line(TextCursor& line, Graph& graph, const Lookup& lookup) {
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
  } else {
    parse_node(line, graph, lookup);
    return;  // an annotation may follow
  }
  if (!line.at_end()) line.error("nothing more expected on this line");
}

}  // namespace

std::string print(const Graph& graph, const Annotate& annotate) {
  MW_CHECK(graph.windows.empty() || graph.windows.size() == graph.nodes.size());
  std::string text;
  for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
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
    text += fmt::format("output {} = %{}\n", quoted(output.name), output.value);
  }
  for (const NamedValue& output : graph.layer_outputs) {
    text += fmt::format("layer_output {} = %{}\n", quoted(output.name), output.value);
  }
  return text;
}

Graph parse(std::string_view text, const Lookup& lookup) {
  Graph graph;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    TextCursor line(text.substr(0, end), ++number);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.at_end() && !line.take("#")) parse_line(line, graph, lookup);
  }
  return graph;
}

}  // namespace meshwork
