#include "plan/fusion_groups.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/index.h"
#include "graph/fusible.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "plan/by_rows.h"
#include "plan/pass_constants.h"
#include "plan/pass_elements.h"
#include "plan/unit_order.h"

namespace meshwork {
namespace {

/// A row is worth a sum within a pass from so many elements on.
constexpr std::int64_t kShortestRow = 16;

struct Order {
  std::vector<ValueId> nodes;
  ValueMap<int> fusion;
};

class FusionFinder {
 public:
  FusionFinder(const Graph& program, const Target& target)
      : program_(program),
        target_(target),
        before_(predecessors(program)),
        readers_(program),
        is_output_(program.nodes.size(), false),
        units_(before_) {
    for (const ValueId id : program.ids()) elements_.push_back(elements_of(program, id));
    for (const NamedValue& output : program.outputs) is_output_[output.value] = true;
  }

  /// All nodes, those of a unit after each other, and the unit of each.
  Order run() {
    join_passes();
    if (target_.column_sums > 0) join_column_sums();
    if (near_bytes(target_) > 0) join_by_rows();
    for (const std::vector<std::string>& ops : target_.siblings) join_siblings(ops);
    if (target_.launch_bytes > 0) {
      join_new_constants();
      join_single_elements();
    }
    Order order;
    for (const int unit : units_.order()) {
      for (const ValueId id : units_.nodes(unit)) {
        order.nodes.push_back(id);
        order.fusion.push_back(unit);
      }
    }
    return order;
  }

 private:
  bool may_pass(ValueId id) const {
    if (!is_row_sum(program_, id)) return is_fusible(program_, id);
    const PassElements elements = elements_of(program_, id);
    const std::int64_t row = elements.shape.back();
    return elements.has_rows && row >= kShortestRow && row <= target_.longest_row;
  }

  /// What is widened is read with what it becomes part of, if it can be: there it takes less
  /// memory than it would from the pass before.
  void join_passes() {
    for (const bool widenings : {false, true}) {
      for (const ValueId id : program_.ids()) {
        if (is_widening(program_, id) == widenings && may_pass(id)) join_operands(id);
      }
    }
  }

  void join_operands(ValueId id) {
    for (const ValueId input : program_.node(id).inputs) {
      if (may_pass(input)) join_pass(input, id);
    }
  }

  void join_pass(ValueId input, ValueId id) {
    const int first = units_.unit_of(input), second = units_.unit_of(id);
    const auto elements = joined(elements_[index(first)], elements_[index(second)]);
    if (!elements || !may_follow(input, id)) return;
    if (join(first, second)) elements_[index(second)] = *elements;
  }

  /// What the backward pass alone needs is not computed in the forward pass: it would have to be
  /// kept. A large gradient is computed where the update alone reads it; updates of small ones are
  /// alike, and wait for each other, without it.
  bool may_follow(ValueId input, ValueId id) const {
    const Phase first = program_.node(input).phase, second = program_.node(id).phase;
    if (first == second) return true;
    return first == Phase::kBackward && second == Phase::kUpdate && target_.launch_bytes > 0 &&
           num_bytes(program_.global_type(input)) >= target_.launch_bytes &&
           std::ranges::all_of(readers_.nodes(input), [&](ValueId reader) {
             return program_.node(reader).phase == Phase::kUpdate;
           });
  }

  /// Joins sums of columns to the passes that compute what they add up, or read it, so that it need
  /// not be read again; of small values a pass is as fast, and waits for others of its form,
  /// without them.
  void join_column_sums() {
    for (const ValueId id : program_.ids()) {
      if (!is_column_sum(program_, id)) continue;
      const ValueId x = program_.node(id).inputs[0];
      if (num_bytes(program_.global_type(x)) < target_.launch_bytes) continue;
      if (join_columns(id, x)) continue;
      for (const ValueId reader : readers_.nodes(x)) {
        if (join_columns(id, reader)) break;
      }
    }
  }

  /// Joins the sum `id` to the pass that `member` is of, if there is one over what it adds up.
  bool join_columns(ValueId id, ValueId member) {
    const Shape& added = program_.global_shape(program_.node(id).inputs[0]);
    const int pass = units_.unit_of(member), sum = units_.unit_of(id);
    if (!may_pass(member) || elements_[index(pass)].shape != added) return false;
    if (program_.node(member).phase != program_.node(id).phase) return false;
    if (!may_keep_columns(pass, added.back()) || reads(pass, id)) return false;
    return join_to_pass(pass, sum);
  }

  /// Joins a unit to a pass, over the elements of this. False where they cannot be joined.
  bool join_to_pass(int pass, int unit) {
    const PassElements elements = elements_[index(pass)];
    const ValueId member = units_.nodes(pass).front();
    if (!join_in_order(pass, unit)) return false;
    elements_[index(units_.unit_of(member))] = elements;
    return true;
  }

  bool reads(int unit, ValueId id) const {
    return std::ranges::any_of(units_.nodes(unit), [&](ValueId node) {
      return std::ranges::find(before_[node], id) != before_[node].end();
    });
  }

  /// Whether a pass may keep so many more sums of columns than it does.
  bool may_keep_columns(int pass, std::int64_t columns) const {
    if (columns < kShortestRow) return false;
    for (const ValueId id : units_.nodes(pass)) {
      if (is_column_sum(program_, id)) columns += program_.global_shape(id).back();
    }
    return columns <= target_.column_sums;
  }

  /// Joins products to the updates that alone read them, and sums of rows to these or others.
  void join_by_rows() {
    std::vector<bool> taken(program_.nodes.size(), false);
    for (const ValueId id : program_.ids()) {
      const std::vector<ValueId>& by = readers_.nodes(id);
      if (by.empty() || !readers_.are_nodes(id)) continue;
      const int fusion = units_.unit_of(by.front());
      const bool sums = is_sum_by_rows(program_, id, target_);
      if (elements_[index(fusion)].adds_rows) continue;
      if (taken[index(fusion)] || !(sums || is_product_by_rows(program_, id, target_))) continue;
      const bool together = std::all_of(by.begin(), by.end(), [&](ValueId reader) {
        const Node& node = program_.node(reader);
        const bool in_turn =
            node.phase == Phase::kUpdate || (sums && node.phase == program_.node(id).phase);
        return in_turn && units_.unit_of(reader) == fusion && is_fusible(program_, reader) &&
               program_.type(reader) == program_.type(id);
      });
      if (!together) continue;
      taken[index(fusion)] = join(units_.unit_of(id), fusion);
    }
  }

  /// Joins nodes of different ops among these that read the same.
  void join_siblings(const std::vector<std::string>& ops) {
    std::map<ValueId, std::vector<ValueId>> by_operand;
    for (const ValueId id : program_.ids()) {
      const Node& node = program_.node(id);
      if (std::ranges::find(ops, node.op->name) == ops.end()) continue;
      std::vector<ValueId>& known = by_operand[node.inputs.front()];
      const auto found =
          std::ranges::find_if(known, [&](ValueId other) { return are_siblings(other, id); });
      if (found == known.end()) {
        known.push_back(id);
        continue;
      }
      join_in_order(units_.unit_of(*found), units_.unit_of(id));
    }
  }

  /// Whether a node reads what another does, of which it may leave out the last, the attributes
  /// that both have are equal, and no node of its op is with that one.
  bool are_siblings(ValueId first, ValueId id) const {
    const Node &one = program_.node(first), &other = program_.node(id);
    const std::size_t common = std::min(one.inputs.size(), other.inputs.size());
    const bool reads_same =
        std::equal(one.inputs.begin(), one.inputs.begin() + static_cast<std::ptrdiff_t>(common),
                   other.inputs.begin());
    const bool is_alike = std::ranges::all_of(one.attrs.entries(), [&](const auto& entry) {
      const Attr* const same = other.attrs.find(entry.first);
      return same == nullptr || *same == entry.second;
    });
    const std::vector<ValueId>& joined = units_.nodes(units_.unit_of(first));
    const bool is_twin = std::ranges::any_of(
        joined, [&](ValueId known) { return program_.node(known).op == other.op; });
    return reads_same && is_alike && !is_twin;
  }

  /// Joins constants that variables take anew, such as sums of gradients that begin from 0, to the
  /// passes that alone read the old values.
  void join_new_constants() {
    for (const Update& update : program_.updates) {
      const ValueId id = update.value;
      if (!is_number(program_, id) || before_[id].empty()) continue;
      const int pass = units_.unit_of(before_[id].front());
      const bool is_alone = std::ranges::all_of(before_[id], [&](ValueId reader) {
        return units_.unit_of(reader) == pass && may_pass(reader);
      });
      if (is_alone && elements_[index(pass)].shape == program_.global_shape(id)) {
        join_to_pass(pass, units_.unit_of(id));
      }
    }
  }

  /// Joins passes over one element with each other, whatever they read.
  void join_single_elements() {
    std::vector<int> singles, joined;
    std::ranges::copy_if(units_.order(), std::back_inserter(singles),
                         [&](int unit) { return is_single_element(units_.nodes(unit)); });
    for (const int unit : singles) {
      if (!join_one_of(joined, unit)) joined.push_back(unit);
    }
  }

  /// Joins a unit with the first of others for which that lets nothing wait, and puts it in the
  /// place of this. False if there is none.
  bool join_one_of(std::vector<int>& others, int unit) {
    for (int& other : others) {
      const auto pair = find_pair(other, unit);
      if (!pair || units_.would_wait(*pair)) continue;
      units_.join(*pair);
      other = unit;
      return true;
    }
    return false;
  }

  bool is_single_element(const std::vector<ValueId>& nodes) const {
    return !nodes.empty() && std::ranges::all_of(nodes, [&](ValueId id) {
      const bool is_result = is_number(program_, id) && is_output_[id];
      return program_.global_shape(id).empty() && (is_fusible(program_, id) || is_result);
    });
  }

  /// Joins unit `first` to `second`, which is behind it and may read it. Whether they are one then.
  bool join(int first, int second) {
    if (first == second) return true;
    const auto pair = find_pair(first, second);
    if (pair) units_.join(*pair);
    return pair.has_value();
  }

  /// The same, whichever stands first.
  bool join_in_order(int one, int other) {
    return units_.is_before(one, other) ? join(one, other) : join(other, one);
  }

  /// Two units that can be one, of no more nodes than the target takes.
  std::optional<UnitOrder::Pair> find_pair(int first, int second) const {
    const std::size_t nodes = units_.nodes(first).size() + units_.nodes(second).size();
    if (nodes > static_cast<std::size_t>(target_.longest_fusion)) return std::nullopt;
    return units_.find_pair(first, second);
  }

  const Graph& program_;
  const Target& target_;
  ValueMap<std::vector<ValueId>> before_;  ///< nodes that must run before each
  Readers readers_;
  ValueMap<bool> is_output_;
  UnitOrder units_;
  std::vector<PassElements> elements_;  ///< of each unit
};

}  // namespace

Fused find_fusion_groups(Graph program, const Target& target) {
  Order order = FusionFinder(program, target).run();
  return take_constants_in({in_order(std::move(program), order.nodes), std::move(order.fusion)});
}

}  // namespace meshwork
