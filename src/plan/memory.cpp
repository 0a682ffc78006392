#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/index.h"
#include "graph/fusible.h"
#include "graph/op_def.h"
#include "graph/views.h"
#include "plan/packing.h"
#include "plan/plan.h"
#include "plan/stack_rows.h"
#include "plan/uses.h"
#include "plan/writers.h"

namespace meshwork {
namespace {

/// Where a value stands: bytes into a buffer.
struct Place {
  int buffer = -1;
  std::int64_t within = 0;
};

class Memory {
 public:
  Memory(Plan& plan, const Target& target, std::int64_t reserved)
      : plan_(plan),
        target_(target),
        reserved_(reserved),
        graph_(plan.program),
        uses_(plan),
        stacks_(stack_rows(plan, uses_)),
        place_(graph_.nodes.size()) {}

  void run() {
    place_variables();
    place_inputs();
    place_joined();
    place_results();
    place_stacks();
    place_parts();
    for (int i = 0; i < end(); ++i) {
      for (const ValueId id : instruction(i).nodes) assign(id, i);
    }
    keep_results();
    const auto workspaces = add_workspaces();
    plan_.step_begin = std::max(plan_.variable_bytes, reserved_);
    const std::span<Buffer> of_step = std::span(buffers_).subspan(persistent_);
    plan_.live_bytes = plan_.step_begin + most_in_use(of_step);
    plan_.arena_bytes = pack(of_step, plan_.step_begin);
    for (const auto& [buffer, within] : place_) {
      plan_.offsets.push_back(buffer < 0 ? Plan::kNoPlace
                                         : buffers_[index(buffer)].offset + within);
    }
    for (const auto& [i, b] : workspaces)
      plan_.instructions[index(i)].workspace = buffers_[index(b)].offset;
  }

 private:
  int end() const { return static_cast<int>(plan_.instructions.size()); }
  Instruction& instruction(int i) { return plan_.instructions[index(i)]; }

  /// Of a value, and of what aligns the one behind it.
  std::int64_t bytes_of(ValueId id) const { return target_.aligned(num_bytes(graph_.type(id))); }

  int new_buffer(std::int64_t bytes, int first) {
    buffers_.push_back({.bytes = target_.aligned(bytes), .first = first, .last = first});
    return static_cast<int>(buffers_.size()) - 1;
  }

  /// Calls put(value, place) for places in one buffer, one behind the other.
  template <class Put>
  void side_by_side(const std::vector<ValueId>& values, int first, const Put& put) {
    std::int64_t bytes = 0;
    for (const ValueId id : values) bytes += bytes_of(id);
    if (values.empty()) return;
    Place place{new_buffer(bytes, first), 0};
    for (const ValueId id : values) {
      put(id, place);
      place.within += bytes_of(id);
    }
  }

  void place_variables() {
    for (const Variable& variable : graph_.variables) {
      const int b = new_buffer(num_bytes(graph_.type(variable.value)), -1);
      buffers_[index(b)].last = end();
      buffers_[index(b)].offset = plan_.variable_bytes;
      plan_.variable_bytes += buffers_[index(b)].bytes;
      place_[variable.value] = {b, 0};
    }
    persistent_ = buffers_.size();
    std::map<ValueId, int> taken;
    for (const Update& update : graph_.updates) ++taken[uses_.root[update.value]];
    for (const Update& update : graph_.updates) {
      if (update.value == update.variable) continue;
      const ValueId value = uses_.root[update.value];
      if (taken[value] == 1 && may_overwrite(value, update.variable, 0)) {
        fixed_[value] = place_[update.variable];
        place_own_block(value, update.variable);
      } else {
        plan_.copies.push_back({update.value, update.variable});
      }
    }
  }

  /// What goes into an all-gather that gives the new value of a variable is computed where its
  /// block stands in the old one, if it can be.
  void place_own_block(ValueId value, ValueId variable) {
    if (graph_.node(value).op->collective != Collective::kAllGather) return;
    const ValueId block = made_for(value, uses_.finish_of[index(uses_.made_by[value])]);
    const std::int64_t begin = block_begin(graph_, value);
    if (block == kNoValue || !may_overwrite(block, variable, begin)) return;
    fixed_[block] = {place_[variable].buffer, begin};
  }

  /// Whether a value may be written where a variable stands, `begin` bytes into it: the old one is
  /// not read later, nor by the op that writes, unless elementwise.
  bool may_overwrite(ValueId value, ValueId variable, std::int64_t begin) const {
    const Node& node = graph_.node(value);
    const int writer = uses_.made_by[value];
    if (node.op->collective == Collective::kAllReduce) return false;  // has a place among others
    if (writer < 0 || begin + num_bytes(node.type) > num_bytes(graph_.type(variable))) return false;
    const int last_read = uses_.last[variable];
    if (last_read < writer) return true;
    const auto overlaps = [&](ValueId input) { return uses_.root[input] == variable; };
    const auto is_same = [&](ValueId input) { return uses_.shown_from[input] == begin; };
    return last_read == writer && may_replace(value, writer, overlaps, is_same);
  }

  /// Whether `id` may be written over the operands of instruction `i` that it overlaps: they stand
  /// where it will, it reads them, if at all, element by element, and nothing in the instruction
  /// reads them later, in another pass, or otherwise than by the element or the row.
  /// Ops that the target computes together read all before they write.
  template <class Overlaps, class IsSame>
  bool may_replace(ValueId id, int i, const Overlaps& overlaps, const IsSame& is_same) const {
    const OpDef& op = *graph_.node(id).op;
    if (!op.in_place && !op.is_constant) return false;
    const bool is_one = op.elementwise || op.is_constant || is_collective(graph_.node(id));
    const bool together = instruction_size(i) > 1 && !is_one;
    const TensorType& type = graph_.type(id);
    const Instruction& instruction = plan_.instructions[index(i)];
    for (const ValueId reader : instruction.nodes) {
      const bool by_element = reader == id || graph_.node(reader).op->elementwise ||
                              (instruction_size(i) > 1 &&
                               (is_row_sum(graph_, reader) || is_column_sum(graph_, reader)));
      for (const ValueId input : graph_.node(reader).inputs) {
        if (!overlaps(input)) continue;
        if (pass_of(instruction, reader) != pass_of(instruction, id)) return false;
        const bool in_turn = together || (by_element && reader <= id);
        if (!in_turn || graph_.type(input) != type || !is_same(input)) return false;
      }
    }
    return true;
  }

  /// Which of the passes of an instruction a node belongs to.
  static std::size_t pass_of(const Instruction& instruction, ValueId id) {
    const std::vector<ValueId>& nodes = instruction.nodes;
    const auto place = std::lower_bound(nodes.begin(), nodes.end(), id) - nodes.begin();
    return index(place) / instruction.nodes_of_pass();
  }

  /// Whether nothing but nodes of its own instruction reads a value.
  bool is_internal(ValueId id, int i) const {
    const Node& node = graph_.node(id);
    return instruction_size(i) > 1 && !is_collective(node) && uses_.last[id] == i;
  }

  /// Small ones stand side by side, so that one copy fills them all.
  void place_inputs() {
    std::vector<ValueId> small;
    for (const ValueId v : graph_.ids()) {
      if (graph_.node(v).op->leaf != Leaf::kInput) continue;
      if (num_bytes(graph_.type(v)) <= target_.small_copy) {
        small.push_back(v);
      } else {
        place_[v] = {new_buffer(bytes_of(v), -1), 0};
        buffers_[index(place_[v].buffer)].last = uses_.last[v];
      }
    }
    side_by_side(small, -1, [&](ValueId v, Place place) {
      place_[v] = place;
      int& last = buffers_[index(place.buffer)].last;
      last = std::max(last, uses_.last[v]);
    });
  }

  /// Scalars that kernels compute stand side by side, so that one copy reads them all.
  void place_results() {
    std::vector<ValueId> scalars;
    for (const NamedValue& output : graph_.outputs) {
      const ValueId id = output.value;
      const bool is_own = uses_.root[id] == id && uses_.made_by[id] >= 0 && !fixed_.contains(id);
      const bool is_computed = !is_collective(graph_.node(id));
      if (!is_own || !is_computed || num_elements(graph_.type(id).shape) != 1) continue;
      if (std::ranges::find(scalars, id) == scalars.end()) scalars.push_back(id);
    }
    side_by_side(scalars, end(), [&](ValueId id, Place place) { fix(id, place); });
  }

  void place_stacks() {
    for (const std::vector<ValueId>& row : stacks_.rows) {
      const auto is_fixed = [&](ValueId id) { return fixed_.contains(id); };
      if (std::ranges::any_of(row, is_fixed)) continue;
      const int first = uses_.made_by[row.front()];
      side_by_side(row, first, [&](ValueId id, Place place) { fix(id, place); });
    }
  }

  /// Parts that are made one after the other, and then put together, are computed in their places
  /// in the whole. Were others, too, it would be there long before.
  void place_parts() {
    for (int i = 0; i < end(); ++i) {
      if (instruction(i).kind != Instruction::Kind::kKernel || instruction_size(i) > 1) continue;
      const ValueId whole = instruction(i).nodes.front();
      const std::vector<std::int64_t> begins = part_offsets(graph_, whole);
      if (begins.empty() || fixed_.contains(whole) || !may_place(whole, i, begins)) continue;
      fixed_[whole] = {new_buffer(num_bytes(graph_.type(whole)), i), 0};
      for (std::size_t k = 0; k < begins.size(); ++k) {
        const ValueId part = uses_.root[graph_.node(whole).inputs[k]];
        fix(part, {fixed_[whole].buffer, begins[k]});
      }
    }
  }

  /// Whether instructions that follow each other give all parts, each in a place of whole lines,
  /// and instruction i, which makes the whole of them, is the last to read them.
  bool may_place(ValueId whole, int i, const std::vector<std::int64_t>& begins) {
    std::set<ValueId> parts;
    std::set<int> makers;
    for (std::size_t k = 0; k < begins.size(); ++k) {
      const ValueId operand = graph_.node(whole).inputs[k], part = uses_.root[operand];
      const bool is_all = num_bytes(graph_.type(operand)) == num_bytes(graph_.type(part));
      const bool is_free = uses_.made_by[part] >= 0 && parts.insert(part).second &&
                           !fixed_.contains(part) && uses_.last[part] == i;
      makers.insert(uses_.made_by[part]);
      if (!is_all || !is_free || target_.aligned(begins[k]) != begins[k]) return false;
      if (is_collective(graph_.node(part))) return false;
    }
    for (int j = i - 1; j >= *makers.begin(); --j) {
      const bool is_shown = instruction_size(j) == 1 && is_view(graph_, instruction(j).nodes[0]);
      if (!makers.contains(j) && !is_shown) return false;
    }
    return true;
  }

  /// The results of joined all-reduces stand side by side, and what goes into them or into an
  /// all-gather, where it is computed for that alone, is computed in the same place.
  void place_joined() {
    for (int i = 0; i < end(); ++i) {
      if (instruction(i).kind != Instruction::Kind::kStart) continue;
      const std::vector<ValueId>& nodes = instruction(i).nodes;
      const Collective collective = graph_.node(nodes.front()).op->collective;
      if (collective == Collective::kAllReduce) {
        place_reduced(nodes, i);
      } else if (collective == Collective::kAllGather && !fixed_.contains(nodes.front())) {
        place_gathered(nodes.front(), i);
      }
    }
  }

  void place_reduced(const std::vector<ValueId>& nodes, int start) {
    side_by_side(nodes, start, [&](ValueId id, Place place) {
      fixed_[id] = place;
      if (const ValueId operand = made_for(id, start); operand != kNoValue) fix(operand, place);
    });
  }

  void place_gathered(ValueId id, int start) {
    const ValueId operand = made_for(id, uses_.finish_of[index(start)]);
    // Where others read it, too, as a weight that each pass gathers, all would be there as long.
    if (!gives_all(id) || operand == kNoValue || uses_.reads[operand] > 1) return;
    const Place whole{new_buffer(num_bytes(graph_.type(id)), start), 0};
    fixed_[id] = whole;
    fix(operand, {whole.buffer, block_begin(graph_, id)});
  }

  /// Whether the own block of an all-gather is all of its operand.
  bool gives_all(ValueId id) const {
    const CollectiveArgs& args = *graph_.node(id).collective;
    return args.counts[index(args.own)] ==
           num_elements(graph_.type(graph_.node(id).inputs[0]).shape);
  }

  /// Places what is made before the buffer would be there.
  void fix(ValueId id, Place place) {
    fixed_[id] = place;
    Buffer& buffer = buffers_[index(place.buffer)];
    buffer.first = std::min(buffer.first, uses_.made_by[id]);
  }

  /// What is computed for a collective, which reads all of it until instruction i, and for nothing
  /// else; or none.
  ValueId made_for(ValueId collective, int i) const {
    const ValueId operand = graph_.node(collective).inputs[0], root = uses_.root[operand];
    const bool is_whole = num_bytes(graph_.type(operand)) == num_bytes(graph_.type(root));
    const bool is_alone =
        uses_.made_by[root] >= 0 && uses_.last[root] == i && !fixed_.contains(root);
    return is_whole && is_alone ? root : kNoValue;
  }

  void assign(ValueId id, int i) {
    const Node& node = graph_.node(id);
    const ValueId root = uses_.root[id];
    Place& mine = place_[id];
    if (is_internal(id, i)) return;
    if (root != id) {
      const auto& [buffer, within] = place_[root];
      mine = {buffer, within + uses_.shown_from[id]};
    } else if (const auto place = fixed_.find(id); place != fixed_.end()) {
      mine = place->second;
    } else if (const ValueId reused = reusable_operand(id, i); reused != kNoValue) {
      mine = place_[reused];
      taken_.insert(uses_.root[reused]);
    } else {
      mine = {new_buffer(num_bytes(node.type), i), 0};
    }
    Buffer& buffer = buffers_[index(mine.buffer)];
    buffer.last = std::max(buffer.last, uses_.last[id]);
  }

  /// An operand that dies here and whose place the result may take, or none. Of a stack rather one
  /// that stands in a stack.
  ValueId reusable_operand(ValueId id, int i) const {
    if (!graph_.node(id).op->in_place) return kNoValue;
    ValueId any = kNoValue;
    for (const ValueId reader : plan_.instructions[index(i)].nodes) {
      if (reader > id) break;
      for (const ValueId input : graph_.node(reader).inputs) {
        if (!may_take_place(id, i, input)) continue;
        const bool is_best =
            !stacks_.values.contains(id) || stacks_.values.contains(uses_.root[input]);
        if (is_best) return input;
        if (any == kNoValue) any = input;
      }
    }
    return any;
  }

  bool may_take_place(ValueId id, int i, ValueId input) const {
    const Place mine = place_[input];
    if (mine.buffer < 0 || graph_.type(input) != graph_.type(id)) return false;
    const bool transient =
        index(mine.buffer) >= persistent_ && buffers_[index(mine.buffer)].first >= 0;
    const ValueId root = uses_.root[input];
    if (!transient || uses_.last[root] != i || uses_.made_by[input] == i) return false;
    if (taken_.contains(root)) return false;
    const auto overlaps = [&](ValueId other) {
      const Place& place = place_[other];
      return place.buffer == mine.buffer &&
             place.within < mine.within + num_bytes(graph_.type(id)) &&
             mine.within < place.within + num_bytes(graph_.type(other));
    };
    const auto is_same = [&](ValueId other) { return place_[other].within == mine.within; };
    return may_replace(id, i, overlaps, is_same);
  }

  std::size_t instruction_size(int i) const { return plan_.instructions[index(i)].nodes.size(); }

  void keep_results() {
    for (const NamedValue& output : graph_.outputs) keep(output.value);
    for (const FinalCopy& copy : plan_.copies) keep(copy.from);
  }
  void keep(ValueId id) { buffers_[index(place_[id].buffer)].last = end(); }

  std::vector<std::pair<int, int>> add_workspaces() {
    std::vector<std::pair<int, int>> result;
    for (int i = 0; i < end(); ++i) {
      if (instruction(i).workspace_bytes == 0) continue;
      result.emplace_back(i, new_buffer(instruction(i).workspace_bytes, i));
    }
    return result;
  }

  Plan& plan_;
  const Target& target_;
  std::int64_t reserved_;
  const Graph& graph_;
  const Uses uses_;
  const StackRows stacks_;
  ValueMap<Place> place_;
  std::vector<Buffer> buffers_;
  std::size_t persistent_ = 0;      ///< the first buffers are variables
  std::map<ValueId, Place> fixed_;  ///< in variables, or side by side
  std::set<ValueId> taken_;         ///< in whose places others stand
};

}  // namespace

void lay_out_memory(Plan& plan, const Target& target, std::int64_t reserved) {
  Memory(plan, target, reserved).run();
}

}  // namespace meshwork
