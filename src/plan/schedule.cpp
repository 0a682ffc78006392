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
  Scheduler(const Graph& program, const std::vector<int>& chain)
      : program_(program), chain_(chain), computed_(program.nodes.size(), false) {
    for (ValueId id = 0; id < static_cast<ValueId>(program.nodes.size()); ++id) {
      if (is_small_reduction(program.node(id))) open_.push_back(id);
    }
  }

  std::vector<Instruction> run() {
    const auto count = static_cast<ValueId>(program_.nodes.size());
    for (ValueId begin = 0, end = 0; begin < count; begin = end) {
      end = end_of_chain(begin);
      if (!is_small_reduction(program_.node(begin))) issue(begin, end);
    }
    while (!open_.empty()) flush(open_.front());
    return std::move(result_);
  }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  static bool is_leaf(const Node& node) {
    return node.op->name == "input" || node.op->name == "variable";
  }

  ValueId end_of_chain(ValueId begin) const {
    ValueId end = begin + 1;
    if (chain_.empty()) return end;
    while (index(end) < chain_.size() && chain_[index(end)] == chain_[index(begin)]) ++end;
    return end;
  }

  /// Issues the nodes from `begin` to `end` as one, behind the reductions that they wait for.
  void issue(ValueId begin, ValueId end) {
    Instruction instruction;
    for (ValueId id = begin; id < end; ++id) {
      for (const ValueId input : program_.node(id).inputs) {
        if (input < begin && !computed_[index(input)]) flush(input);
      }
      computed_[index(id)] = true;
      if (!is_leaf(program_.node(id))) instruction.nodes.push_back(id);
    }
    if (!instruction.nodes.empty()) result_.push_back(std::move(instruction));
  }

  /// Issues the small reduction `id` and all others that can go with it: their operands are there.
  void flush(ValueId id) {
    const ValueId operand = program_.node(id).inputs[0];
    if (!computed_[index(operand)]) flush(operand);
    Instruction joined;
    for (const ValueId other : open_) {
      const Node& node = program_.node(other);
      if (computed_[index(node.inputs[0])] && same_call(node, program_.node(id))) {
        joined.nodes.push_back(other);
      }
    }
    for (const ValueId done : joined.nodes) {
      computed_[index(done)] = true;
      std::erase(open_, done);
    }
    result_.push_back(std::move(joined));
  }

  const Graph& program_;
  const std::vector<int>& chain_;
  std::vector<ValueId> open_;  ///< small reductions not yet issued
  std::vector<bool> computed_;
  std::vector<Instruction> result_;
};

}  // namespace

std::vector<Instruction> schedule(const Graph& program, const std::vector<int>& chain) {
  return Scheduler(program, chain).run();
}

}  // namespace meshwork
