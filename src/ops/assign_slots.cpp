// Where choices of experts stand (GShard, Lepikhin et al. 2020): each expert of a sample has
// `capacity` slots, slot = expert capacity + place. All first choices of a sample take theirs
// before all second ones, in the order of the positions. y[b, t, k] is the slot of choice
// x[b, t, k], or -1 where the expert is full or there is no such expert.
#include "base/check.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1 && args.inputs[0].dtype == DType::kInt32);
  MW_CHECK(args.inputs[0].shape.size() == 3, "{}", to_string(args.inputs[0]));
  MW_CHECK(args.attrs.integer("experts") >= 1 && args.attrs.integer("capacity") >= 1);
  return args.inputs[0];
}

std::string rule(const OpArgs&) { return "b [t] [k] -> b [t] [k]"; }

}  // namespace

const OpDef kAssignSlots{.name = "assign_slots", .infer = infer, .rule = rule};

}  // namespace meshwork::ops
