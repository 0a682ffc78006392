#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

#include "graph/fusible.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "graph/views.h"
#include "plan/plan.h"
#include "plan/writers.h"

namespace meshwork {
namespace {

class Ordering {
 public:
  explicit Ordering(const Graph& graph)
      : graph_(graph),
        before_(predecessors(graph)),
        role_(graph.nodes.size(), Role::kFixed),
        waits_(graph.nodes.size(), 0),
        waiting_(graph.nodes.size()),
        done_(graph.nodes.size(), false) {
    find_roles();
    find_dependencies();
  }

  std::vector<ValueId> run(const Target& target) {
    for (const ValueId id : graph_.ids()) {
      if (is_leaf(graph_.node(id))) emit(id);
    }
    if (target.launch_bytes > 0) {
      emit_kept_copies();
      emit_small(target.small_copy);
    }
    for (const ValueId id : graph_.ids()) {
      const bool waits = role_[id] == Role::kUpdate && waits_[id] > 0;
      if (!done_[id] && !waits && role_[id] != Role::kFree) emit(id);
      while (!ready_.empty()) {
        const ValueId next = ready_.top();
        ready_.pop();
        if (!done_[next]) emit(next);
      }
    }
    for (const ValueId id : graph_.ids()) {
      if (!done_[id]) emit(id);
    }
    return std::move(order_);
  }

 private:
  enum class Role {
    kFixed,   ///< stays where it is
    kUpdate,  ///< comes as soon as its operands are there
    kFree,    ///< depends on no gradient: comes when it is read
  };

  /// Weights of 16 bits that are kept for the backward pass, until when they take their places in
  /// any case.
  void emit_kept_copies() {
    const Readers readers(graph_);
    for (const ValueId id : graph_.ids()) {
      const bool is_kept =
          is_copy_of_weight(id) && std::ranges::any_of(readers.nodes(id), [&](ValueId by) {
            return graph_.node(by).phase == Phase::kBackward;
          });
      if (is_kept) emit(id);
    }
  }

  /// What the forward pass makes of variables alone, pass by pass, in values of no more than so
  /// many bytes: biases of 16 bits, scales that are rounded.
  void emit_small(std::int64_t bytes) {
    ValueMap<bool> is_small(graph_.nodes.size(), false);
    for (const ValueId id : graph_.ids()) {
      const Node& node = graph_.node(id);
      const auto is_known = [&](ValueId input) {
        return graph_.node(input).op->leaf == Leaf::kVariable || is_small[input] ||
               is_number(graph_, input);
      };
      is_small[id] = node.phase == Phase::kForward && is_fusible(graph_, id) &&
                     !is_number(graph_, id) && global_bytes(id) <= bytes &&
                     std::ranges::all_of(node.inputs, is_known);
      if (is_small[id] && !done_[id]) emit(id);
    }
  }

  std::int64_t global_bytes(ValueId id) const { return num_bytes(graph_.global_type(id)); }

  bool is_copy_of_weight(ValueId id) const {
    const Node& node = graph_.node(id);
    return is_narrowing(graph_, id) && node.phase == Phase::kForward &&
           graph_.node(node.inputs[0]).op->leaf == Leaf::kVariable;
  }

  void find_roles() {
    ValueMap<bool> is_new_value(graph_.nodes.size(), false);
    for (const Update& update : graph_.updates) {
      is_new_value[viewed(graph_, update.value)] = true;
      is_new_value[written_for(graph_, update)] = true;
    }
    for (const NamedValue& output : graph_.outputs) is_new_value[output.value] = true;
    for (const ValueId id : graph_.ids()) {
      const Node& node = graph_.node(id);
      if (node.phase != Phase::kUpdate || is_leaf(node) || is_collective(node)) continue;
      bool free = !is_new_value[id];
      bool fixed = false;
      for (const ValueId input : node.inputs) {
        const Node& operand = graph_.node(input);
        if (is_leaf(operand)) continue;
        free = free && role_[input] == Role::kFree;
        fixed = fixed || is_collective(operand) ||
                (operand.phase == Phase::kUpdate && role_[input] == Role::kFixed);
      }
      if (!fixed) role_[id] = free ? Role::kFree : Role::kUpdate;
    }
  }

  /// An update waits for all that must run before it.
  void find_dependencies() {
    for (const ValueId id : graph_.ids()) {
      if (role_[id] != Role::kUpdate) continue;
      for (const ValueId before : before_[id]) wait(id, before);
    }
  }

  void wait(ValueId id, ValueId operand) {
    if (is_leaf(graph_.node(operand)) || role_[operand] == Role::kFree) return;
    ++waits_[id];
    waiting_[operand].push_back(id);
  }

  void emit(ValueId id) {
    for (const ValueId before : before_[id]) {
      if (!done_[before]) emit(before);
    }
    done_[id] = true;
    order_.push_back(id);
    for (const ValueId next : waiting_[id]) {
      if (--waits_[next] == 0) ready_.push(next);
    }
  }

  const Graph& graph_;
  ValueMap<std::vector<ValueId>> before_;  ///< nodes that must run before each
  ValueMap<Role> role_;
  ValueMap<int> waits_;                     ///< of updates: for how many nodes
  ValueMap<std::vector<ValueId>> waiting_;  ///< updates that wait for a node
  ValueMap<bool> done_;
  std::priority_queue<ValueId, std::vector<ValueId>, std::greater<>> ready_;
  std::vector<ValueId> order_;
};

}  // namespace

Graph arranged(Graph program, const Target& target) {
  const std::vector<ValueId> order = Ordering(program).run(target);
  return in_order(std::move(program), order);
}

}  // namespace meshwork
