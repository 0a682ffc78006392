// y = scale x + offset, each of them one number, or one for each channel
#include "model/arguments.h"
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

/// What broadcasts to x.
ValueId constants(GraphBuilder& b, const config::Reader& args, const config::Value& given,
                  const char* key, ValueId x) {
  if (!given.is_list()) return ops::constant_like(b, given.as_real(key), x);
  const Shape shape = b.shape(x);
  const auto count = static_cast<std::int64_t>(given.list.size());
  if (shape.size() < 2 || count != shape.back()) {
    fail_at(given.at, "{}: {} has {} numbers for samples {}; give one, or one for each channel",
            args.what(), key, count, sample_shape(shape));
  }
  std::vector<ValueId> channels;
  for (const config::Value& number : given.list) {
    const ValueId channel = ops::constant_like(b, number.as_real(key), x);
    channels.push_back(ops::reshape(b, channel, {1}));
  }
  return count == 1 ? channels[0] : b.add(ops::kConcatenate, channels, {{"axis", 0}});
}

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const ValueId x = inputs[0];
  const ValueId y = ops::multiply(b, x, constants(b, args, args.require("scale"), "scale", x));
  const config::Value* const offset = args.find("offset");
  const bool is_zero = offset == nullptr || (offset->is_real() && offset->as_real("offset") == 0);
  return is_zero ? y : ops::add(b, y, constants(b, args, *offset, "offset", x));
}

}  // namespace

const LayerDef kRescaling{.names = {"Rescaling"}, .build = build, .passes_mask = true};

}  // namespace meshwork::layers
