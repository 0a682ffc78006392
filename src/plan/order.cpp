#include <functional>
#include <queue>
#include <set>
#include <vector>

#include "graph/leaf.h"
#include "graph/op_def.h"
#include "graph/views.h"
#include "plan/plan.h"
#include "plan/writers.h"

namespace meshwork {
namespace {

class Ordering {
 public:
  explicit Ordering(const Graph& graph)
      : graph_(graph),
        role_(graph.nodes.size(), Role::kFixed),
        waits_(graph.nodes.size(), 0),
        waiting_(graph.nodes.size()),
        done_(graph.nodes.size(), false) {
    find_roles();
    find_dependencies();
  }

  std::vector<ValueId> run() {
    for (ValueId id = 0; id < end(); ++id) {
      if (is_leaf(graph_.node(id))) emit(id);
    }
    for (ValueId id = 0; id < end(); ++id) {
      const bool waits = role(id) == Role::kUpdate && waits_[index(id)] > 0;
      if (!done_[index(id)] && !waits && role(id) != Role::kFree) emit(id);
      while (!ready_.empty()) {
        const ValueId next = ready_.top();
        ready_.pop();
        if (!done_[index(next)]) emit(next);
      }
    }
    for (ValueId id = 0; id < end(); ++id) {
      if (!done_[index(id)]) emit(id);
    }
    return std::move(order_);
  }

 private:
  enum class Role {
    kFixed,   ///< stays where it is
    kUpdate,  ///< comes as soon as its operands are there
    kFree,    ///< depends on no gradient: comes when it is read
  };

  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  ValueId end() const { return static_cast<ValueId>(graph_.nodes.size()); }
  Role role(ValueId id) const { return role_[index(id)]; }

  ValueId root(ValueId id) const { return viewed(graph_, id); }

  void find_roles() {
    std::vector<bool> is_new_value(graph_.nodes.size(), false);
    for (const Update& update : graph_.updates) {
      is_new_value[index(root(update.value))] = true;
      is_new_value[index(written_for(graph_, update))] = true;
    }
    for (const NamedValue& output : graph_.outputs) is_new_value[index(output.value)] = true;
    for (ValueId id = 0; id < end(); ++id) {
      const Node& node = graph_.node(id);
      if (node.phase != Phase::kUpdate || is_leaf(node) || communicates(node)) continue;
      bool free = !is_new_value[index(id)];
      bool fixed = false;
      for (const ValueId input : node.inputs) {
        const Node& operand = graph_.node(input);
        if (is_leaf(operand)) continue;
        free = free && role(input) == Role::kFree;
        fixed = fixed || communicates(operand) ||
                (operand.phase == Phase::kUpdate && role(input) == Role::kFixed);
      }
      if (!fixed) role_[index(id)] = free ? Role::kFree : Role::kUpdate;
    }
  }

  static bool communicates(const Node& node) { return node.op->collective != Collective::kNone; }

  /// An update waits for its operands, and a new value for those that read the old one before it.
  void find_dependencies() {
    std::vector<std::vector<ValueId>> readers(graph_.nodes.size());
    for (ValueId id = 0; id < end(); ++id) {
      for (const ValueId input : graph_.node(id).inputs) readers[index(root(input))].push_back(id);
      if (role(id) != Role::kUpdate) continue;
      for (const ValueId input : graph_.node(id).inputs) wait(id, input);
    }
    for (const Update& update : graph_.updates) {
      const ValueId writer = written_for(graph_, update);
      if (role(writer) != Role::kUpdate) continue;
      for (const ValueId reader : readers[index(update.variable)]) {
        if (reader < writer) wait(writer, reader);
      }
    }
  }

  void wait(ValueId id, ValueId operand) {
    if (is_leaf(graph_.node(operand)) || role(operand) == Role::kFree) return;
    ++waits_[index(id)];
    waiting_[index(operand)].push_back(id);
  }

  void emit(ValueId id) {
    for (const ValueId input : graph_.node(id).inputs) {
      if (!done_[index(input)]) emit(input);
    }
    done_[index(id)] = true;
    order_.push_back(id);
    for (const ValueId next : waiting_[index(id)]) {
      if (--waits_[index(next)] == 0) ready_.push(next);
    }
  }

  const Graph& graph_;
  std::vector<Role> role_;
  std::vector<int> waits_;                     ///< of updates: for how many nodes
  std::vector<std::vector<ValueId>> waiting_;  ///< updates that wait for a node
  std::vector<bool> done_;
  std::priority_queue<ValueId, std::vector<ValueId>, std::greater<>> ready_;
  std::vector<ValueId> order_;
};

/// A constant that several variables take as their new value, for each of them anew: written where
/// the variable stands, it needs no other place.
Graph with_own_constants(const Graph& program) {
  Graph graph = program;
  std::set<ValueId> taken;
  for (Update& update : graph.updates) {
    if (taken.insert(update.value).second) continue;
    const Node copy = graph.node(update.value);
    if (!copy.inputs.empty() || is_leaf(copy)) continue;
    if (!graph.windows.empty()) {
      const Window window = graph.windows[static_cast<std::size_t>(update.value)];
      graph.windows.push_back(window);
    }
    update.value = static_cast<ValueId>(graph.nodes.size());
    graph.nodes.push_back(copy);
  }
  return graph;
}

}  // namespace

Graph update_early(const Graph& program) {
  const Graph graph = with_own_constants(program);
  return in_order(graph, Ordering(graph).run());
}

}  // namespace meshwork
