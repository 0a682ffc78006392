// Values of the forward pass that elementwise nodes compute of what is kept anyway are not kept:
// the backward pass computes them again, in the passes that read them or for products that take far
// longer than one pass. A value that would not be kept is, instead of more bytes that can be
// computed of it: of GELU only its operand. The bits are the same.
#include <algorithm>
#include <set>
#include <vector>

#include "graph/fusible.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "ops/ops.h"
#include "rewrite/insertions.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

/// A product with so many times Target::light_flops operations for each element of an operand takes
/// so much longer than a pass over this that the pass does not count.
constexpr double kHeavy = 128;

/// A value of so few bytes, on all devices together, is kept.
constexpr std::int64_t kFewBytes = 4096;

/// A value so many times smaller than what is computed of it may be kept for that.
constexpr std::int64_t kMuchSmaller = 8;

class Recomputing {
 public:
  Recomputing(Graph& program, const Target& target)
      : program_(program),
        target_(target),
        readers_(program),
        named_(program.nodes.size(), false),
        late_(program.nodes.size(), false),
        there_(program.nodes.size(), false),
        again_(program.nodes.size(), false),
        copies_(program.nodes.size(), kNoValue),
        insertions_(program) {
    for (const Update& update : program.updates) named_[update.value] = true;
    for (const NamedValue& output : program.outputs) named_[output.value] = true;
  }

  void run() {
    const ValueRange ids = program_.ids();
    for (ValueId id = program_.end() - 1; id >= 0; --id) late_[id] = is_read_late(id);
    for (const ValueId id : ids) {
      again_[id] = may_be_left(id) && can_be_computed(id);
      there_[id] = late_[id] || can_be_computed(id);
      if (there_[id] || node(id).phase != Phase::kForward) continue;
      late_[id] = there_[id] = bytes_saved_by(id) > bytes(id);
    }
    for (const ValueId id : ids) {
      if (node(id).phase != Phase::kBackward) continue;
      for (std::size_t i = 0; i < node(id).inputs.size(); ++i) {
        const ValueId input = node(id).inputs[i];
        if (!again_[input]) continue;
        const ValueId copy = copy_before(id, input);
        program_.node(id).inputs[i] = copy;
      }
    }
    insertions_.finish();
  }

 private:
  const Node& node(ValueId id) const { return program_.node(id); }
  std::int64_t elements(ValueId id) const { return num_elements(program_.global_shape(id)); }
  bool is_large(ValueId id) const {
    return num_bytes({DType::kFloat32, program_.global_shape(id)}) > kFewBytes;
  }
  std::int64_t bytes(ValueId id) const { return num_bytes(program_.global_type(id)); }
  bool may_be_view(ValueId id) const { return node(id).op->view_offset != nullptr; }

  bool runs_in_passes(ValueId id) const { return is_fusible(program_, id); }

  /// Whether a value of the forward pass is read behind it, itself or through what may be a view.
  bool is_read_late(ValueId id) const {
    return node(id).phase == Phase::kForward &&
           std::ranges::any_of(readers_.nodes(id), [&](ValueId reader) {
             const bool shown = may_be_view(reader) && late_[reader];
             return shown || node(reader).phase != Phase::kForward;
           });
  }

  bool is_small_for(ValueId input, ValueId id) const {
    return elements(input) * kMuchSmaller <= elements(id);
  }

  /// Whether the backward pass can compute a value of the forward pass from others that are there,
  /// or are among `more`.
  bool can_be_computed(ValueId id, const std::set<ValueId>& more = {}) const {
    const std::vector<ValueId>& inputs = node(id).inputs;
    return node(id).phase == Phase::kForward && runs_in_passes(id) && !inputs.empty() &&
           std::ranges::all_of(inputs, [&](ValueId input) {
             return there_[input] || more.contains(input) || is_small_for(input, id);
           });
  }

  /// Whether a value would not be kept if the backward pass could compute it.
  bool may_be_left(ValueId id) const {
    return is_large(id) && late_[id] && !named_[id] && !is_kept_copy(id) && pays(id);
  }

  /// A weight that is rounded to 16 bits, of which products are fast: small beside the optimizer's
  /// state, and a launch to round it again.
  bool is_kept_copy(ValueId id) const {
    return target_.narrow_speed > 1 && is_narrowing(program_, id) &&
           node(node(id).inputs[0]).op->leaf == Leaf::kVariable;
  }

  /// How many bytes need not be kept if a value is that would not be.
  std::int64_t bytes_saved_by(ValueId id) const {
    std::int64_t saved = 0;
    std::set<ValueId> computed{id};
    std::set<ValueId> there;  // without it
    std::set<ValueId> open(readers_.nodes(id).begin(), readers_.nodes(id).end());
    while (!open.empty()) {
      const ValueId next = *open.begin();
      open.erase(open.begin());
      if (!can_be_computed(next, computed)) continue;
      computed.insert(next);
      const bool computed_anyway = can_be_computed(next, there);
      if (computed_anyway || late_[next]) there.insert(next);
      if (!computed_anyway && may_be_left(next)) saved += bytes(next);
      open.insert(readers_.nodes(next).begin(), readers_.nodes(next).end());
    }
    return saved;
  }

  /// Whether all that read a value late do so in passes over values of its shape, or take long.
  bool pays(ValueId id) const {
    bool in_passes = true;
    double work = 0;
    for (const ValueId reader : readers_.nodes(id)) {
      const Phase phase = node(reader).phase;
      const bool shown = may_be_view(reader) && late_[reader];
      if (phase == Phase::kForward && !shown) continue;
      if (phase != Phase::kBackward) return false;
      if (runs_in_passes(reader) && program_.global_shape(reader) == program_.global_shape(id)) {
        continue;
      }
      in_passes = false;
      if (node(reader).op->sums_products) work += flops_of_float32(reader);
    }
    return in_passes || work >= kHeavy * target_.light_flops * static_cast<double>(elements(id));
  }

  /// Of all devices together, each part counted once; as many as take the time in float32.
  double flops_of_float32(ValueId id) const {
    const auto types = global_input_types(program_, node(id));
    const double flops = node(id).op->flops(
        {.inputs = types, .attrs = node(id).attrs, .output = program_.global_type(id)});
    return is_narrow_float(types.front().dtype) ? flops / target_.narrow_speed : flops;
  }

  /// The value computed again, to stand before `reader` unless it already stands before another.
  ValueId copy_before(ValueId reader, ValueId id) {
    if (copies_[id] != kNoValue) return copies_[id];
    Node copy = node(id);
    copy.phase = Phase::kBackward;
    for (ValueId& input : copy.inputs) {
      const bool is_kept = late_[input] || is_small_for(input, id);
      if (again_[input] || !is_kept) input = copy_before(reader, input);
    }
    copies_[id] = insertions_.add(reader, std::move(copy), Region(program_.regions[id]));
    return copies_[id];
  }

  Graph& program_;
  const Target& target_;
  Readers readers_;
  ValueMap<bool> named_;
  ValueMap<bool> late_;   ///< read behind the forward pass
  ValueMap<bool> there_;  ///< kept, or computed again, behind the forward pass
  ValueMap<bool> again_;
  ValueMap<ValueId> copies_;
  Insertions insertions_;
};

void run(Graph& program, const Target& target) { Recomputing(program, target).run(); }

}  // namespace

namespace rewriting {
const RewriteDef kRecompute{.name = "recompute", .run = run};
}  // namespace rewriting

}  // namespace meshwork
