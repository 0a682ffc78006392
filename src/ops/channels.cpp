#include "ops/channels.h"

#include "base/check.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {

std::int64_t channel_extent(const OpArgs& args) {
  const Shape& x = args.inputs[0].shape;
  const std::int64_t axis = args.attrs.integer("axis");
  MW_CHECK(axis >= 0 && axis < static_cast<std::int64_t>(x.size()), "axis {} of {}", axis,
           to_string(x));
  return x[static_cast<std::size_t>(axis)];
}

std::string channel_names(const OpArgs& args) {
  const auto axis = static_cast<std::size_t>(args.attrs.integer("axis"));
  std::string text;
  for (std::size_t d = 0; d < args.inputs[0].shape.size(); ++d) {
    text += (d > 0 ? " " : "") + (d == axis ? "ch" : factor_name(d));
  }
  return text;
}

ValueId row(GraphBuilder& b, ValueId x, std::int64_t index) {
  const std::int64_t channels = b.shape(x)[1];
  const ValueId slice =
      b.add(kSlice, {x}, {{"axis", std::int64_t{0}}, {"start", index}, {"size", std::int64_t{1}}});
  return reshape(b, slice, {channels});
}

}  // namespace meshwork::ops
