#include "plan/pass_constants.h"

#include <algorithm>
#include <map>
#include <utility>

#include "graph/fusible.h"
#include "graph/readers.h"

namespace meshwork {
namespace {

class ConstantsOfPasses {
 public:
  explicit ConstantsOfPasses(Fused fused)
      : program_(std::move(fused.program)), fusion_(std::move(fused.fusion)) {}

  Fused run() {
    const ValueId end = program_.end();
    for (ValueId begin = 0; begin < end;) {
      const ValueId next = end_of_pass(begin, end);
      take_in(begin, next);
      for (; begin < next; ++begin) order_.push_back(begin);
    }
    return without_unread();
  }

 private:
  ValueId end_of_pass(ValueId begin, ValueId end) const {
    ValueId next = begin + 1;
    while (next < end && fusion_[next] == fusion_[begin]) ++next;
    return next;
  }

  /// Has the nodes of a pass read constants that stand right before them.
  void take_in(ValueId begin, ValueId end) {
    std::map<ValueId, ValueId> own;
    for (ValueId id = begin; id < end; ++id) {
      if (!is_fusible(program_, id)) continue;
      for (std::size_t i = 0; i < program_.node(id).inputs.size(); ++i) {
        const ValueId input = program_.node(id).inputs[i];
        if (!is_number(program_, input)) continue;
        const auto [known, is_new] = own.try_emplace(input, kNoValue);
        if (is_new) known->second = copy(input, fusion_[begin]);
        program_.node(id).inputs[i] = known->second;
      }
    }
  }

  ValueId copy(ValueId constant, int fusion) {
    const ValueId id = program_.nodes.append(Node(program_.node(constant)));
    if (!program_.regions.empty()) program_.regions.push_back(Region(program_.regions[constant]));
    fusion_.push_back(fusion);
    order_.push_back(id);
    return id;
  }

  Fused without_unread() {
    const Readers readers(program_);
    Fused result;
    std::vector<ValueId> kept;
    for (const ValueId id : order_) {
      if (is_number(program_, id) && readers.count(id) == 0) continue;
      kept.push_back(id);
      result.fusion.push_back(fusion_[id]);
    }
    result.program = in_order(std::move(program_), kept);
    return result;
  }

  Graph program_;
  ValueMap<int> fusion_;
  std::vector<ValueId> order_;
};

}  // namespace

Fused take_constants_in(Fused fused) { return ConstantsOfPasses(std::move(fused)).run(); }

ValueId first_result(const Graph& program, const Instruction& instruction) {
  const std::vector<ValueId>& nodes = instruction.nodes;
  const auto found =
      std::ranges::find_if(nodes, [&](ValueId id) { return !is_number(program, id); });
  return found == nodes.end() ? nodes.front() : *found;
}

}  // namespace meshwork
