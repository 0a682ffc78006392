#include <algorithm>

#include "graph/op_def.h"
#include "plan/plan.h"

namespace meshwork {
namespace {

bool is_small_reduction(const Node& node) {
  return node.op->collective == Collective::kAllReduce && num_bytes(node.type) <= kSmallBytes;
}

bool same_call(const Node& a, const Node& b) {
  return a.type.dtype == b.type.dtype &&
         a.attrs.integers("members") == b.attrs.integers("members") &&
         a.attrs.text("reduction") == b.attrs.text("reduction");
}

class Scheduler {
 public:
  explicit Scheduler(const Graph& program)
      : program_(program), waiting_(program.nodes.size(), false) {}

  std::vector<Instruction> run() {
    for (ValueId id = 0; id < static_cast<ValueId>(program_.nodes.size()); ++id) {
      const Node& node = program_.node(id);
      for (const ValueId input : node.inputs) {
        if (waiting_[index(input)]) flush(input);
      }
      if (is_small_reduction(node)) {
        pending_.push_back(id);
        waiting_[index(id)] = true;
      } else if (!node.inputs.empty() || !is_leaf(node)) {
        result_.push_back({.nodes = {id}});
      }
    }
    while (!pending_.empty()) flush(pending_.front());
    return std::move(result_);
  }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  static bool is_leaf(const Node& node) {
    return node.op->name == "input" || node.op->name == "variable";
  }

  /// Issues the waiting reduction `id` and all that can go with it.
  void flush(ValueId id) {
    Instruction joined;
    for (const ValueId other : pending_) {
      if (same_call(program_.node(other), program_.node(id))) joined.nodes.push_back(other);
    }
    for (const ValueId done : joined.nodes) {
      waiting_[index(done)] = false;
      std::erase(pending_, done);
    }
    result_.push_back(std::move(joined));
  }

  const Graph& program_;
  std::vector<ValueId> pending_;
  std::vector<bool> waiting_;
  std::vector<Instruction> result_;
};

}  // namespace

std::vector<Instruction> schedule(const Graph& program) { return Scheduler(program).run(); }

}  // namespace meshwork
