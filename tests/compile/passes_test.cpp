// Every pass by itself: tests/golden/passes/<pass>/<case>.txt holds a small program, a line `---`,
// and the program after the pass. Lines that begin with '#' say what a case shows and, as
// `# mesh: data=2, model=2` and the like, what the pass is told beside the program. With
// MESHWORK_UPDATE_GOLDEN set (scripts/update_golden.py) what stands behind `---` is written anew.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "autodiff/gradients.h"
#include "backend/backend.h"
#include "base/check.h"
#include "graph/text.h"
#include "plan/fusion_groups.h"
#include "plan/plan.h"
#include "rewrite/rewrite.h"
#include "sharding/layout_map.h"
#include "spmd/partition.h"
#include "spmd/rematerialize.h"
#include "support/golden.h"
#include "support/ops_by_name.h"
#include "support/text/cursor.h"
#include "support/text/layouts.h"

using namespace meshwork;
using meshwork::testing::op_of;
using meshwork::testing::parse;
using meshwork::testing::parse_laid_out;
using meshwork::testing::parse_layout;
using meshwork::testing::parse_partitioned;
using meshwork::testing::TextCursor;
namespace fs = std::filesystem;

namespace {

const fs::path kPasses = "tests/golden/passes";

/// What stands before `---`.
struct Case {
  std::string program;
  Mesh mesh;
  int device = 0;
  std::vector<std::string> segments;  ///< paths
};

/// Reads "data=2, model=2".
Mesh parse_mesh(TextCursor& line) {
  Mesh mesh;
  do {
    mesh.names.push_back(line.word());
    line.expect("=");
    mesh.sizes.push_back(static_cast<int>(line.integer()));
  } while (line.take(","));
  return mesh;
}

Case parse_case(const std::string& text) {
  Case result;
  result.program = text;
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    TextCursor line(std::string_view(text).substr(begin, end - begin), ++number);
    begin = end + 1;
    if (!line.take("#")) continue;
    if (line.take("mesh:")) {
      result.mesh = parse_mesh(line);
    } else if (line.take("device:")) {
      result.device = static_cast<int>(line.integer());
    } else if (line.take("segments:")) {
      do result.segments.push_back(line.word());
      while (line.take(","));
    }
  }
  return result;
}

Graph global(const Case& c) {
  Graph graph = parse(c.program, op_of);
  verify(graph);
  return graph;
}

std::string checked(const Graph& graph) {
  verify(graph);
  return print(graph);
}

std::string checked(const Partitioned& program, const Mesh& mesh) {
  verify(program, mesh);
  return print(program, mesh);
}

std::string backward(const Case& c) {
  Graph graph = global(c);
  add_gradients(graph);
  return checked(graph);
}

/// Layouts stand in the program where they are pinned.
std::string layouts(const Case& c) {
  std::map<ValueId, Layout> pins;
  const Graph graph = parse(c.program, op_of, [&](ValueId id, std::string_view layout) {
    pins[id] = parse_layout(std::string(layout), c.mesh);
  });
  verify(graph);
  PinnedLayouts pinned;
  for (const Variable& variable : graph.variables) {
    MW_CHECK(pins.contains(variable.value), "'{}' has no layout", variable.path);
    pinned.variables.push_back({{}, pins[variable.value]});
    pins.erase(variable.value);
  }
  pinned.values.assign(pins.begin(), pins.end());
  const LaidOut program =
      propagate(graph, pinned, c.mesh, {.keep_gathered = false, .target = cpu_target(1)});
  verify(program.graph);
  return print(program, c.mesh);
}

std::string rematerialize(const Case& c) {
  std::vector<Segment> segments;
  for (const std::string& path : c.segments) segments.push_back({{path}});
  const LaidOut program = parse_laid_out(c.program, c.mesh, op_of);
  const Rematerialized again = meshwork::rematerialize(program, segments, c.mesh, cpu_target(1));
  verify(again.program.graph);
  return print(again.program, c.mesh);
}

std::string reshards(const Case& c) {
  return checked(insert_reshards(parse_laid_out(c.program, c.mesh, op_of), c.mesh, {}), c.mesh);
}

std::string collectives(const Case& c) {
  return checked(choose_collectives(parse_partitioned(c.program, c.mesh, op_of), c.mesh), c.mesh);
}

std::string local(const Case& c) {
  const Partitioned program = parse_partitioned(c.program, c.mesh, op_of);
  verify(program, c.mesh);
  return checked(prune(localize(program, c.mesh, c.device)));
}

/// Where launching costs.
std::string order(const Case& c) {
  Target target = cpu_target(1);
  target.launch_bytes = 1;
  return checked(arranged(with_overwrite_edges(global(c)), target));
}

/// Nodes of the same fusion have the same number.
std::string fusions(const Case& c) {
  const Fused found = find_fusion_groups(global(c), cpu_target(1));
  verify(found.program);
  return print(found.program,
               [&](ValueId id) { return fmt::format("fusion {}", found.fusion[id]); });
}

std::string schedule(const Case& c) {
  Plan plan;
  plan.program = global(c);
  meshwork::schedule(plan, cpu_target(1));
  return to_string(plan);
}

/// Of the passes that are found, where launching takes as long as to move 64 bytes.
std::string horizontal(const Case& c) {
  Target target = cpu_target(1);
  target.launch_bytes = 64;
  target.several_at_once.emplace("sum_of_squares");
  Fused found = find_fusion_groups(global(c), target);
  Plan plan;
  plan.program = std::move(found.program);
  meshwork::schedule(plan, target, found.fusion);
  join_alike(plan, target);
  lay_out_memory(plan, target, 0);
  return to_string(plan);
}

std::string plan(const Case& c) {
  Plan plan;
  plan.program = global(c);
  meshwork::schedule(plan, cpu_target(1));
  lay_out_memory(plan, cpu_target(1), 0);
  return to_string(plan);
}

std::set<const OpDef*> ops_of(const Graph& program) {
  std::set<const OpDef*> ops;
  for (const Node& node : program.nodes) {
    if (node.op->collective == Collective::kNone) ops.insert(node.op);
  }
  return ops;
}

/// Whether `makes` tells of all that a rewrite has brought into a program.
void check_makes(const RewriteDef& rewrite, const Graph& before, const Graph& after) {
  const std::set<const OpDef*> known = ops_of(before);
  for (const OpDef* op : ops_of(after)) {
    CAPTURE(op->name);
    CHECK((known.contains(op) || std::ranges::count(rewrite.makes, op) == 1));
  }
}

using Run = std::function<std::string(const Case&)>;

std::map<std::string, Run> passes() {
  std::map<std::string, Run> result{
      {"backward", backward},     {"layouts", layouts},     {"rematerialize", rematerialize},
      {"reshards", reshards},     {"local", local},         {"collectives", collectives},
      {"order", order},           {"elementwise", fusions}, {"schedule", schedule},
      {"horizontal", horizontal}, {"plan", plan},
  };
  for (const RewriteDef* rewrite : rewrites()) {
    result[std::string(rewrite->name)] = [rewrite](const Case& c) {
      Graph program = global(c);
      Target target = cpu_target(1);
      target.column_sums = 16;
      rewrite->run(program, target);
      check_makes(*rewrite, global(c), program);
      return checked(prune(program));
    };
  }
  return result;
}

}  // namespace

TEST_CASE("every pass makes of its cases what their texts say") {
  int cases = 0;
  const auto known = passes();
  for (const auto& entry : fs::recursive_directory_iterator(kPasses)) {
    const fs::path& file = entry.path();
    if (file.extension() != ".txt") continue;
    ++cases;
    CAPTURE(file.string());
    const auto pass = known.find(file.parent_path().filename().string());
    REQUIRE(pass != known.end());
    const std::string text = testing::read_text(file);
    const std::string line = "\n---\n";
    const std::size_t end = text.find(line);
    REQUIRE(end != std::string::npos);
    const std::string result = pass->second(parse_case(text.substr(0, end + 1)));
    if (testing::updates_golden()) {
      std::ofstream(file) << text.substr(0, end) + line + result;
    } else {
      testing::check_golden(file, text.substr(end + line.size()), result);
    }
  }
  CHECK(cases >= 20);
}
