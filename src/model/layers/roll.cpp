// Elements moved along `axis` by `shift`; those that go beyond the end come in at the beginning
#include "model/arguments.h"
#include "model/layers/operation.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId slice(GraphBuilder& b, ValueId x, std::int64_t axis, std::int64_t start,
              std::int64_t size) {
  return b.add(ops::kSlice, {x}, {{"axis", axis}, {"start", start}, {"size", size}});
}

/// A turn by whole rounds is a slice, too: of a part of a sequence it would be none.
ValueId roll(GraphBuilder& b, ValueId x, std::int64_t axis, std::int64_t shift) {
  const std::int64_t extent = b.shape(x)[static_cast<std::size_t>(axis)];
  const std::int64_t first = ((shift % extent) + extent) % extent;
  if (shift == 0) return x;
  if (first == 0) return slice(b, x, axis, 0, extent);
  const ValueId end = slice(b, x, axis, extent - first, first);
  return b.add(ops::kConcatenate, {end, slice(b, x, axis, 0, extent - first)}, {{"axis", axis}});
}

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  ValueId x = inputs[0];
  require_sample_axes(args, b.shape(x).size());
  const config::Value& shift = args.require("shift");
  const config::Value& axis = args.require("axis");
  const std::size_t count = axis.is_list() ? axis.list.size() : 1;
  if (shift.is_list() && shift.list.size() != count) {
    fail_at(shift.at, "{}: shift has {} numbers for {} axes; give one for each, or one for all",
            args.what(), shift.list.size(), count);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const config::Value& along = axis.is_list() ? axis.list[i] : axis;
    const config::Value& by = shift.is_list() ? shift.list[i] : shift;
    x = roll(b, x, read_axis(&along, -1, b.shape(x).size()), by.as_integer("shift"));
  }
  return give(scope, args, x);
}

}  // namespace

const LayerDef kRoll{
    .names = {"Roll"}, .build = build, .takes_any_dtype = true, .module = kNumpyOperations};

}  // namespace meshwork::layers
