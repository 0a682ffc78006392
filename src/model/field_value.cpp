#include "model/field_value.h"

#include "model/mask_tokens.h"
#include "ops/ops.h"

namespace meshwork {
namespace {

Shape with_first(std::int64_t extent, Shape shape) {
  shape.insert(shape.begin(), extent);
  return shape;
}

Attrs conversion_attrs(const StoredField& stored) {
  Attrs attrs{{"dtype", std::string(to_string(stored.conversion.dtype))},
              {"scale", stored.conversion.scale},
              {"offset", stored.conversion.offset}};
  const auto& [mean, std] = stored.normalization;
  if (mean.empty()) return attrs;
  attrs.set("mean", std::vector<double>(mean.begin(), mean.end()));
  attrs.set("std", std::vector<double>(std.begin(), std.end()));
  return attrs;
}

/// Of rows of all samples, or of a batch of samples, as numbers of training.
ValueId converted(GraphBuilder& b, const Field& field, const Shape& sample, std::int64_t batch) {
  const StoredField& stored = *field.stored;
  const Attrs attrs = conversion_attrs(stored);
  if (stored.resident == 0) {
    const ValueId x = ops::input(b, field.name, {stored.dtype, with_first(batch, sample)});
    return b.add(ops::kConvert, {x}, attrs);
  }
  const ValueId rows = ops::input(b, field.name, {DType::kInt32, {batch}});
  const ValueId samples = b.add(ops::kSamples, {},
                                {{"name", field.name},
                                 {"dtype", std::string(to_string(stored.dtype))},
                                 {"shape", with_first(stored.resident, sample)}});
  return b.add(ops::kTakeRows, {samples, rows}, attrs);
}

}  // namespace

ValueId field_value(GraphBuilder& b, const Field& field, std::int64_t batch) {
  if (!field.stored) {
    return ops::input(b, field.name, {field.dtype, with_first(batch, field.shape)});
  }
  const std::int64_t classes = field.stored->classes;
  if (classes == 0) {
    const ValueId x = converted(b, field, field.shape, batch);
    return field.stored->mask ? mask_tokens(b, *field.stored->mask, x) : x;
  }
  const Shape sample(field.shape.begin(), field.shape.end() - 1);
  const ValueId labels = converted(b, field, sample, batch);
  const ValueId hot = b.add(ops::kOneHot, {labels}, {{"depth", classes}});
  return ops::cast(b, hot, field.dtype);
}

}  // namespace meshwork
