// stacks: products of one form, such as those for queries, keys and values, are computed as one
// stack of matrices
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/index.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "plan/plan.h"
#include "plan/uses.h"

namespace meshwork {
namespace {

/// Where an operand comes from: those of one source can stand side by side.
struct Source {
  enum class Kind { kVariable, kOfVariable, kInstruction, kOther };
  Kind kind = Kind::kOther;
  int number = -1;  ///< of the instruction
  bool operator==(const Source&) const = default;
};

class Stacking {
 public:
  Stacking(Plan& plan, const Target& target)
      : plan_(plan),
        target_(target),
        program_(plan.program),
        before_(predecessors(plan.program)),
        uses_(plan) {}

  void run() {
    std::map<std::string, std::vector<int>> alike;
    for (int i = 0; i < end(); ++i) {
      if (is_stackable(plan_.instructions[index(i)])) alike[form_of(node_of(i))].push_back(i);
    }
    goes_to_.resize(plan_.instructions.size());
    for (int i = 0; i < end(); ++i) goes_to_[index(i)] = i;
    for (auto& [form, instructions] : alike) {
      while (instructions.size() > 1) take_first(instructions);
    }
    rebuild();
  }

 private:
  int end() const { return static_cast<int>(plan_.instructions.size()); }
  ValueId node_of(int i) const { return plan_.instructions[index(i)].nodes.front(); }

  bool is_stackable(const Instruction& instruction) const {
    if (instruction.kind != Instruction::Kind::kKernel || instruction.nodes.size() != 1)
      return false;
    return target_.stacked.contains(program_.node(instruction.nodes.front()).op->name);
  }

  /// What products of a stack have in common: all but their operands.
  std::string form_of(ValueId id) const {
    const Node& node = program_.node(id);
    std::string form = fmt::format("{} {}", node.op->name, to_string(node.attrs));
    for (const ValueId input : node.inputs) form += " " + to_string(program_.type(input));
    return form + " " + to_string(node.type);
  }

  /// The first of a list and those that can be in a stack with it are taken off the list.
  void take_first(std::vector<int>& list) {
    std::vector<int> stack{list.front()}, others;
    for (std::size_t i = 1; i < list.size(); ++i) {
      (fits(stack, list[i]) ? stack : others).push_back(list[i]);
    }
    list = std::move(others);
    for (const int i : stack) goes_to_[index(i)] = stack.front();
  }

  /// Whether the operands of instruction `i` are there when the first of the stack runs, and each
  /// is that of all in the stack, or one that none of them has, from where theirs come.
  bool fits(const std::vector<int>& stack, int i) const {
    const std::vector<ValueId>& before = before_[node_of(i)];
    const auto is_there = [&](ValueId id) { return done_at(id) < stack.front(); };
    if (!std::ranges::all_of(before, is_there)) return false;
    for (std::size_t k = 0; k < program_.node(node_of(i)).inputs.size(); ++k) {
      const ValueId mine = operand(i, k), first = operand(stack.front(), k);
      const bool is_same = mine == first;
      if (stack.size() > 1 && is_same != (operand(stack[1], k) == first)) return false;
      const auto is_other = [&](int in_stack) {
        return uses_.root[operand(in_stack, k)] != uses_.root[mine];
      };
      const bool is_new = std::ranges::all_of(stack, is_other);
      if (!is_same && !(is_new && are_of_one_source(mine, first))) return false;
    }
    return true;
  }

  /// The instruction behind which a value is there; -1: it always is.
  int done_at(ValueId id) const {
    const int made_by = uses_.made_by[id];
    return made_by < 0 ? made_by : std::max(made_by, uses_.finish_of[index(made_by)]);
  }

  ValueId operand(int i, std::size_t k) const { return program_.node(node_of(i)).inputs[k]; }

  bool are_of_one_source(ValueId a, ValueId b) const {
    const Source source = source_of(a);
    return source.kind != Source::Kind::kOther && source == source_of(b);
  }

  Source source_of(ValueId id) const {
    const ValueId root = uses_.root[id];
    if (num_bytes(program_.type(root)) != num_bytes(program_.type(id))) return {};
    const Node& node = program_.node(root);
    if (node.op->leaf == Leaf::kVariable) return {Source::Kind::kVariable};
    if (uses_.made_by[root] < 0 || is_collective(node)) return {};
    const bool is_copy = node.op->same_elements &&
                         program_.node(uses_.root[node.inputs[0]]).op->leaf == Leaf::kVariable;
    if (is_copy) return {Source::Kind::kOfVariable};
    return {Source::Kind::kInstruction, uses_.made_by[root]};
  }

  void rebuild() {
    std::vector<Instruction> old = std::exchange(plan_.instructions, {});
    std::vector<int> number(old.size());
    for (std::size_t i = 0; i < old.size(); ++i) {
      const auto place = index(goes_to_[i]);
      if (place == i) {
        number[i] = static_cast<int>(plan_.instructions.size());
        plan_.instructions.push_back(std::move(old[i]));
        continue;
      }
      Instruction& stack = plan_.instructions[index(number[place])];
      stack.nodes.push_back(old[i].nodes.front());
      ++stack.passes;
      stack.is_stack = true;
    }
    for (Instruction& instruction : plan_.instructions) {
      if (instruction.is_stack) std::ranges::sort(instruction.nodes);
      if (instruction.kind == Instruction::Kind::kFinish)
        instruction.started = number[index(instruction.started)];
    }
  }

  Plan& plan_;
  const Target& target_;
  const Graph& program_;
  ValueMap<std::vector<ValueId>> before_;
  const Uses uses_;           ///< before anything is moved
  std::vector<int> goes_to_;  ///< the instruction whose stack an instruction is in
};

}  // namespace

void stack_products(Plan& plan, const Target& target) { Stacking(plan, target).run(); }

}  // namespace meshwork
