// Every op case in every legal layout of its operands, against one device.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/rng.h"
#include "graph/builder.h"
#include "graph/dim_rule.h"
#include "ops/cases.h"
#include "ops/ops.h"
#include "support/interpreter.h"
#include "support/partitioned_run.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

struct CaseProgram {
  Graph graph;
  std::vector<ValueId> inputs;
  std::map<std::string, HostTensor> tensors;
};

CaseProgram program_of(const OpCase& op_case) {
  CaseProgram program;
  GraphBuilder b(program.graph);
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    const std::string name = fmt::format("x{}", i);
    const TensorType& type = op_case.inputs[i].type;
    program.inputs.push_back(b.add(
        ops::kInput, {},
        {{"name", name}, {"dtype", std::string(to_string(type.dtype))}, {"shape", type.shape}}));
    program.tensors[name] = draw(op_case, i);
  }
  const ValueId y = b.add(*op_case.op, program.inputs, op_case.attrs);
  program.graph.outputs.push_back({"y", y});
  return program;
}

HostTensor run_on_one(const CaseProgram& program) {
  const auto backend = make_reference_backend();
  Interpreter interpreter(program.graph, *backend);
  for (const auto& [name, tensor] : program.tensors) interpreter.feed(name, tensor);
  interpreter.run();
  return interpreter.read("y");
}

/// All layouts of a tensor over one axis: replicated, or sharded along one dimension.
std::vector<Layout> layouts_over(std::size_t rank, int axis) {
  std::vector<Layout> layouts{replicated(rank)};
  for (std::size_t d = 0; d < rank; ++d) {
    layouts.push_back(replicated(rank));
    layouts.back().dims[d].push_back(axis);
  }
  return layouts;
}

/// The next choice of one layout for every operand; false after the last.
bool next(std::vector<std::size_t>& turn, const std::vector<std::vector<Layout>>& choices) {
  for (std::size_t i = 0; i < turn.size(); ++i) {
    if (++turn[i] < choices[i].size()) return true;
    turn[i] = 0;
  }
  return false;
}

/// For every operand the number of a choice. Of choices that are too many for all of them: where
/// one operand at most is sharded, where all that have some factor are, and some others.
std::vector<std::vector<std::size_t>> turns_of(const std::vector<std::vector<Layout>>& choices,
                                               const DimRule& rule) {
  constexpr std::size_t kAll = 500, kOthers = 40;
  std::size_t all = 1;
  for (const auto& choice : choices) all *= choice.size();
  std::vector<std::size_t> turn(choices.size(), 0);
  std::vector<std::vector<std::size_t>> turns;
  if (all <= kAll) {
    do turns.push_back(turn);
    while (next(turn, choices));
    return turns;
  }
  turns.push_back(turn);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    for (turn[i] = 1; turn[i] < choices[i].size(); ++turn[i]) turns.push_back(turn);
    turn[i] = 0;
  }
  for (std::size_t f = 0; f < rule.factors.size(); ++f) {
    for (std::size_t i = 0; i < choices.size(); ++i) {
      turn[i] = static_cast<std::size_t>(DimRule::dim_of(rule.inputs[i], static_cast<int>(f)) + 1);
    }
    turns.push_back(turn);
  }
  for (std::size_t k = 0; k < kOthers; ++k) {
    for (std::size_t i = 0; i < choices.size(); ++i) {
      turn[i] = philox(all, k, i)[0] % choices[i].size();
    }
    turns.push_back(turn);
  }
  return turns;
}

/// -2: no operand is sharded; -1: they disagree, or a factor may not be sharded; else the factor
/// that all sharded operands bring.
int agreed_factor(const CaseProgram& program, const std::vector<Layout>& layouts) {
  const Node& node = program.graph.node(output_value(program.graph, "y"));
  const DimRule rule = rule_of(program.graph, node);
  int agreed = -2;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    for (std::size_t d = 0; d < layouts[i].dims.size(); ++d) {
      if (layouts[i].dims[d].empty()) continue;
      const int factor = DimRule::major_factor(rule.inputs[i], d);
      if (factor < 0 || rule.factors[static_cast<std::size_t>(factor)].whole) return -1;
      if (agreed != -2 && agreed != factor) return -1;
      agreed = factor;
    }
  }
  return agreed;
}

/// One exchange for every operand in tiles that are not enough for its windows.
std::vector<std::string> halo_exchanges(const CaseProgram& program, const DimRule& rule,
                                        const std::vector<Layout>& layouts, const Mesh& mesh) {
  std::vector<std::string> exchanges;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const Shape& shape = program.graph.type(program.inputs[i]).shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (layouts[i].dims[d].empty() || !rule.reaches[i][d]) continue;
      const auto factor = static_cast<std::size_t>(DimRule::major_factor(rule.inputs[i], d));
      const auto halo = halo_of(*rule.reaches[i][d], rule.factors[factor].size, shape[d],
                                layouts[i].dims[d], mesh);
      const auto blocks = blocks_of(shape[d], layouts[i].dims[d], mesh);
      const bool misses =
          !std::equal(halo.begin(), halo.end(), blocks.begin(),
                      [](const Interval& a, const Interval& b) { return contains(b, a); });
      if (misses) exchanges.emplace_back("all_to_all");
    }
  }
  return exchanges;
}

/// Collectives that the op needs where its operands agree: none, or one all-reduce of the result,
/// after the halos of windowed operands.
void check_collectives(const CaseProgram& program, const std::vector<Layout>& layouts,
                       const Mesh& mesh, const std::vector<std::string>& collectives) {
  const int factor = agreed_factor(program, layouts);
  if (factor == -1) return;
  const Node& node = program.graph.node(output_value(program.graph, "y"));
  const DimRule rule = rule_of(program.graph, node);
  const bool merged = std::any_of(rule.output.begin(), rule.output.end(),
                                  [](const auto& dim) { return dim.size() > 1; }) ||
                      std::any_of(rule.inputs.begin(), rule.inputs.end(), [](const auto& operand) {
                        return std::any_of(operand.begin(), operand.end(),
                                           [](const auto& dim) { return dim.size() > 1; });
                      });
  if (merged) return;  // parts may be uneven
  const bool reduced = factor >= 0 && !DimRule::contains(rule.output, factor);
  std::vector<std::string> expected = halo_exchanges(program, rule, layouts, mesh);
  if (reduced) expected.emplace_back("all_reduce");
  CHECK(collectives == expected);
}

void check_all_layouts(const OpCase& op_case, const Mesh& mesh, int axis) {
  const CaseProgram program = program_of(op_case);
  const HostTensor expected = run_on_one(program);
  std::vector<std::vector<Layout>> choices;
  for (const CaseInput& input : op_case.inputs) {
    choices.push_back(layouts_over(input.type.shape.size(), axis));
  }
  std::vector<std::vector<Layout>> layouts;
  std::vector<PinnedLayouts> pinned;
  const DimRule rule = rule_of(program.graph, program.graph.node(output_value(program.graph, "y")));
  for (const std::vector<std::size_t>& turn : turns_of(choices, rule)) {
    layouts.emplace_back();
    pinned.emplace_back();
    for (std::size_t i = 0; i < choices.size(); ++i) {
      layouts.back().push_back(choices[i][turn[i]]);
      pinned.back().values.emplace_back(program.inputs[i], layouts.back().back());
    }
  }

  const auto runs = run_partitioned(program.graph, pinned, mesh, program.tensors);
  for (std::size_t k = 0; k < runs.size(); ++k) {
    std::string text;
    for (const Layout& layout : layouts[k]) text += " " + to_string(layout, mesh);
    CAPTURE(text);
    // Sums in another order, which may be rounded the other way.
    const bool rounded = is_narrow_float(op_case.output.dtype);
    const double tolerance = std::max(op_case.tolerance, rounded ? 1.0 / 64 : 2e-5);
    CHECK(difference(runs[k].outputs.at("y"), expected, tolerance) == "");
    check_collectives(program, layouts[k], mesh, runs[k].collectives);
  }
}

bool moves_nothing_random(const OpCase& op_case) {
  const std::string_view name = op_case.op->name;
  return op_case.op->collective == Collective::kNone && name != "input" && name != "samples" &&
         name != "variable" && name != "pack" && name != "unpack" && name != "halo_pack" &&
         name != "halo_unpack" && name != "add_part" && name != "transpose_blocks";
}

void check_on(const Mesh& mesh, int axis, const std::vector<OpCase>& cases = op_cases()) {
  for (const OpCase& op_case : cases) {
    if (!moves_nothing_random(op_case)) continue;
    CAPTURE(op_case.name);
    CAPTURE(to_string(mesh));
    check_all_layouts(op_case, mesh, axis);
  }
}

}  // namespace

TEST_CASE("every op in every layout over 2 devices") { check_on({{"a"}, {2}}, 0); }
TEST_CASE("every op in every layout over 3 devices") { check_on({{"a"}, {3}}, 0); }
TEST_CASE("every op in every layout over 4 devices") { check_on({{"a"}, {4}}, 0); }
TEST_CASE("every op in every layout over the second axis of 4 x 2 devices") {
  check_on({{"a", "b"}, {4, 2}}, 1);
}
TEST_CASE("every op of bfloat16 in every layout over 3 devices") {
  check_on({{"a"}, {3}}, 0, bfloat16_cases());
}
TEST_CASE("every op of float16 in every layout over 3 devices") {
  check_on({{"a"}, {3}}, 0, narrow_cases(DType::kFloat16));
}
TEST_CASE("every op in every layout over 8 devices") { check_on({{"a"}, {8}}, 0); }
