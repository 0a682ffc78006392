#include "plan/stack_rows.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/index.h"
#include "graph/op_def.h"

namespace meshwork {
namespace {

/// Instructions: fewer than a layer of a transformer has.
constexpr int kSoon = 24;

class Rows {
 public:
  Rows(const Plan& plan, const Uses& uses) : plan_(plan), graph_(plan.program), uses_(uses) {
    for (const Variable& variable : graph_.variables) rank(variable.value);
  }

  StackRows run() {
    for (const Instruction& instruction : plan_.instructions) {
      if (instruction.is_stack) add(instruction);
    }
    return std::move(found_);
  }

 private:
  /// All in the order of those that are in order already.
  void add(const Instruction& stack) {
    std::vector<std::vector<ValueId>> all = differing_operands(stack);
    const auto are_in_order = [&](const std::vector<ValueId>& values) {
      return std::ranges::all_of(values, [&](ValueId id) { return rank_.contains(id); });
    };
    std::stable_partition(all.begin(), all.end(), are_in_order);
    all.push_back(stack.nodes);
    const std::vector<std::size_t> order = order_of(all.front());
    for (const std::vector<ValueId>& values : all) {
      std::vector<ValueId> row;
      for (const std::size_t n : order) row.push_back(values[n]);
      for (const ValueId id : row) rank(id);
      found_.values.insert(row.begin(), row.end());
      if (may_be_row(row)) found_.rows.push_back(std::move(row));
    }
  }

  /// For each operand in which the nodes differ, the values whose bytes it is.
  std::vector<std::vector<ValueId>> differing_operands(const Instruction& stack) const {
    std::vector<std::vector<ValueId>> result;
    for (std::size_t k = 0; k < graph_.node(stack.nodes.front()).inputs.size(); ++k) {
      std::vector<ValueId> roots;
      for (const ValueId id : stack.nodes) roots.push_back(uses_.root[graph_.node(id).inputs[k]]);
      if (roots.front() != roots.back()) result.push_back(std::move(roots));
    }
    return result;
  }

  std::vector<std::size_t> order_of(const std::vector<ValueId>& values) const {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t n) {
      const auto rank = rank_.find(values[n]);
      return std::pair(rank == rank_.end() ? -1 : rank->second, values[n]);
    });
    return order;
  }

  /// Whether all are computed, and end at about the same time: one that ended long before the
  /// others would be kept for them. What may stand where an operand does is left to stand there.
  bool may_be_row(const std::vector<ValueId>& row) const {
    const auto is_free = [&](ValueId id) { return uses_.made_by[id] >= 0 && !may_replace(id); };
    const auto last = [&](ValueId id) { return uses_.last[id]; };
    const auto [first_end, last_end] = std::ranges::minmax_element(row, {}, last);
    return last(*last_end) - last(*first_end) <= kSoon && std::ranges::all_of(row, is_free);
  }

  /// Whether an operand like the result ends where this is computed.
  bool may_replace(ValueId id) const {
    if (!graph_.node(id).op->in_place) return false;
    const int i = uses_.made_by[id];
    const auto ends = [&](ValueId input) {
      const ValueId root = uses_.root[input];
      const int made_by = uses_.made_by[root];
      return made_by >= 0 && made_by < i && uses_.last[root] == i &&
             graph_.type(input) == graph_.type(id);
    };
    const auto reads_one = [&](ValueId node) {
      return std::ranges::any_of(graph_.node(node).inputs, ends);
    };
    return std::ranges::any_of(plan_.instructions[index(i)].nodes, reads_one);
  }

  void rank(ValueId id) { rank_.emplace(id, static_cast<int>(rank_.size())); }

  const Plan& plan_;
  const Graph& graph_;
  const Uses& uses_;
  std::map<ValueId, int> rank_;  ///< of variables, and of what is in a stack
  StackRows found_;
};

}  // namespace

StackRows stack_rows(const Plan& plan, const Uses& uses) { return Rows(plan, uses).run(); }

}  // namespace meshwork
