// sparse_einsum -> [rows .., experts, units], and the elementwise nodes and sums over units that
// read it -> packed_einsum and the same nodes of [rows .., k, units]: of each row the blocks of the
// experts that it chose, at most k. With experts enough the hidden units of all of them would fill
// the memory, nearly all zeros (MegaBlocks, Gale et al. 2023, keeps those that are chosen, too).
//
// A device that has part of the experts packs the choices among these. All devices have the same
// nodes: that there are more experts than choices is so on all of them.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "graph/fusible.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "graph/sparse_roles.h"
#include "ops/ops.h"
#include "rewrite/insertions.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

/// How a value is packed.
struct Packing {
  ValueId chosen = kNoValue;  ///< [rows .., experts]; kNoValue: it is not
  std::int64_t of_row = 0;
  bool is_zero = false;  ///< whole it is 0 where an expert is not chosen
};

class PackExperts {
 public:
  explicit PackExperts(Graph& program)
      : program_(program),
        readers_(program),
        insertions_(program),
        refused_(program.nodes.size(), false) {
    for (const NamedValue& output : program.layer_outputs) refused_[output.value] = true;
    for (const Update& gradient : program.gradients) refused_[gradient.value] = true;
  }

  void run() {
    do {
      packings_.assign(program_.nodes.size(), {});
      for (const ValueId id : program_.ids()) packings_[id] = packing_of(id);
    } while (refuse_some());
    for (const ValueId id : program_.ids()) {
      is_packed(id) ? pack(id) : read_packed(id);
    }
    insertions_.finish();
  }

 private:
  const Node& node(ValueId id) const { return program_.node(id); }
  bool is_packed(ValueId id) const { return packings_[id].chosen != kNoValue; }

  Packing packing_of(ValueId id) const {
    const Node& value = node(id);
    if (refused_[id]) return {};
    if (value.op == &ops::kSparseEinsum) return packing_of_product(value);
    const bool is_by_blocks = is_elementwise(value) || sums_rows(program_, id);
    return is_by_blocks ? packing_of_operands(id) : Packing{};
  }

  Packing packing_of_product(const Node& product) const {
    const ValueId chosen = product.inputs[2];
    const std::int64_t of_row = product.attrs.integer("of_row");
    const bool pays = of_row < program_.global_shape(chosen).back();
    if (sparse_roles(product.attrs).spread != 2 || !pays) return {};
    return {chosen, of_row, true};
  }

  /// Element by element, whatever its shape.
  static bool is_elementwise(const Node& value) {
    const auto has = [&](const char* name) { return value.attrs.find(name) != nullptr; };
    return value.op->elementwise && !has("axis") && !has("shape");
  }

  /// Of a node that computes block by block: one of its operands is packed, and all that are have
  /// the same choices.
  Packing packing_of_operands(ValueId id) const {
    Packing result;
    for (const ValueId input : node(id).inputs) {
      if (is_packed(input)) result = packings_[input];
    }
    const ValueId chosen = result.chosen;
    if (chosen == kNoValue || !has_blocks(id, chosen)) return {};
    for (const ValueId input : node(id).inputs) {
      const bool fits = is_packed(input) ? packings_[input].chosen == chosen
                                         : has_blocks(input, chosen) || !has_experts(input, chosen);
      if (!fits) return {};
    }
    result.is_zero = is_zero(node(id));
    return result;
  }

  /// Whether a value is [rows .., experts, ..], with those of `chosen`.
  bool has_blocks(ValueId id, ValueId chosen) const {
    Shape blocks = program_.global_shape(id);
    if (blocks.empty()) return false;
    blocks.pop_back();
    return blocks == program_.global_shape(chosen);
  }

  bool has_experts(ValueId id, ValueId chosen) const {
    const Shape& shape = program_.global_shape(id);
    return shape.size() >= 2 && shape.end()[-2] == program_.global_shape(chosen).back();
  }

  bool is_zero(const Node& value) const {
    const auto zero = [&](ValueId input) { return packings_[input].is_zero; };
    switch (value.op->linear) {
      case Linear::kJointly:
        return std::ranges::all_of(value.inputs, zero);
      case Linear::kEach:
        return std::ranges::any_of(value.inputs, zero);
      case Linear::kFirst:
        return zero(value.inputs[0]);
      default:
        return false;
    }
  }

  /// Whether `reader` takes a value as it is packed.
  bool takes_packed(ValueId reader, ValueId id) const {
    const Node& product = node(reader);
    if (product.op != &ops::kSparseEinsum) return is_packed(reader);
    const int spread = sparse_roles(product.attrs).spread;
    return product.inputs[2] == packings_[id].chosen && spread < 2 &&
           product.inputs[static_cast<std::size_t>(spread)] == id &&
           product.inputs[static_cast<std::size_t>(1 - spread)] != id;
  }

  /// Refuses values of which all blocks are read, and not only zeros are missing.
  bool refuse_some() {
    bool refuses = false;
    for (const ValueId id : program_.ids()) {
      if (!is_packed(id)) continue;
      const bool stays_packed = std::ranges::all_of(
          readers_.nodes(id), [&](ValueId reader) { return takes_packed(reader, id); });
      if (readers_.are_nodes(id) && (packings_[id].is_zero || stays_packed)) continue;
      refuses = refused_[id] = true;
    }
    return refuses;
  }

  /// Blocks of a row that this device has.
  std::int64_t places(const Packing& packing) const {
    return std::min(packing.of_row, program_.type(packing.chosen).shape.back());
  }

  /// A node before `reader`, of the layer and phase of that.
  ValueId add(ValueId reader, const OpDef& op, ValueId x, ValueId chosen, Attrs attrs,
              TensorType type, Region region) {
    Node added = node(reader);
    added.op = &op;
    added.inputs = {x, chosen};
    added.attrs = std::move(attrs);
    added.type = std::move(type);
    return insertions_.add(reader, std::move(added), std::move(region));
  }

  void set_packed(TensorType& type, Region& region, const Packing& packing) const {
    type.shape.end()[-2] = places(packing);
    region.global.end()[-2] = packing.of_row;
    region.offset.end()[-2] = 0;
  }

  /// An operand of `reader` that is not packed as it would be.
  ValueId packed(ValueId x, ValueId reader, const Packing& packing) {
    const auto [found, is_new] = moved_.try_emplace({x, packing.chosen});
    if (!is_new) return found->second;
    TensorType type = program_.type(x);
    Region region = program_.regions[x];
    set_packed(type, region, packing);
    const Attrs attrs{{"packed", places(packing)}};
    return found->second = add(reader, ops::kPackChosen, x, packing.chosen, attrs, std::move(type),
                               std::move(region));
  }

  /// A packed operand of `reader` with the blocks of all experts.
  ValueId unpacked(ValueId x, ValueId reader) {
    const ValueId chosen = packings_[x].chosen;
    const auto [found, is_new] = moved_.try_emplace({x, chosen});
    if (!is_new) return found->second;
    TensorType type = program_.type(x);
    Region region = program_.regions[x];
    type.shape.end()[-2] = program_.type(chosen).shape.back();
    region.global.end()[-2] = program_.regions[chosen].global.back();
    region.offset.end()[-2] = program_.regions[chosen].offset.back();
    return found->second =
               add(reader, ops::kUnpackChosen, x, chosen, {}, std::move(type), std::move(region));
  }

  void multiply_packed(ValueId id, const Packing& packing) {
    Node& product = program_.node(id);
    product.op = &ops::kPackedEinsum;
    product.attrs.set("packed", places(packing));
  }

  void pack(ValueId id) {
    const Packing& packing = packings_[id];
    std::vector<ValueId> inputs = node(id).inputs;
    if (node(id).op == &ops::kSparseEinsum) {
      multiply_packed(id, packing);
    } else {
      for (ValueId& input : inputs) {
        if (!is_packed(input) && has_blocks(input, packing.chosen))
          input = packed(input, id, packing);
      }
    }
    Node& value = program_.node(id);
    value.inputs = std::move(inputs);
    set_packed(value.type, program_.regions[id], packing);
  }

  /// A node that is not packed, but may read what is.
  void read_packed(ValueId id) {
    std::vector<ValueId> inputs = node(id).inputs;
    for (ValueId& input : inputs) {
      if (!is_packed(input)) continue;
      if (takes_packed(id, input)) {
        multiply_packed(id, packings_[input]);
      } else {
        input = unpacked(input, id);
      }
    }
    program_.node(id).inputs = std::move(inputs);
  }

  Graph& program_;
  Readers readers_;
  Insertions insertions_;
  ValueMap<bool> refused_;
  ValueMap<Packing> packings_;
  std::map<std::pair<ValueId, ValueId>, ValueId> moved_;  ///< by the value and its choices
};

void run(Graph& program, const Target& /*target*/) { PackExperts(program).run(); }

}  // namespace

namespace rewriting {
const RewriteDef kPackExperts{
    .name = "pack_experts",
    .run = run,
    .makes = {&ops::kPackChosen, &ops::kPackedEinsum, &ops::kUnpackChosen}};
}  // namespace rewriting

}  // namespace meshwork
