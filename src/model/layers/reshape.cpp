// [batch, ..] -> [batch, target_shape..], one of which may be -1
#include "base/shape.h"
#include "model/arguments.h"
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

/// `target` with its -1, if any, replaced, so that it has `elements`.
Shape complete(const config::Value& value, Shape target, std::int64_t elements) {
  std::int64_t* open = nullptr;
  for (std::int64_t& extent : target) {
    if (extent == -1 && open == nullptr) {
      open = &extent;
    } else if (extent == -1) {
      fail_at(value.at, "target_shape {} has more than one -1; keep one", to_string(target));
    } else if (extent < 1) {
      fail_at(value.at, "target_shape {} has {}; give 1 or more, or one -1", to_string(target),
              extent);
    }
  }
  const Shape given = target;
  if (open != nullptr) *open = 1;
  const std::int64_t known = checked_elements(target);
  const bool fits = known > 0 && (open == nullptr ? known == elements : elements % known == 0);
  if (!fits) {
    fail_at(value.at, "target_shape {} does not hold the {} elements of a sample", to_string(given),
            elements);
  }
  if (open != nullptr) *open = elements / known;
  return target;
}

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const Shape shape = b.shape(inputs[0]);
  const std::int64_t elements = num_elements(Shape(shape.begin() + 1, shape.end()));
  const config::Value& target = args.require("target_shape");
  Shape result = complete(target, target.as_shape("target_shape"), elements);
  result.insert(result.begin(), shape[0]);
  return ops::reshape(b, inputs[0], std::move(result));
}

}  // namespace

const LayerDef kReshape{.names = {"Reshape"}, .build = build};

}  // namespace meshwork::layers
