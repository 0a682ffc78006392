#include "data/field_plan.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace meshwork::data {
std::int64_t FieldPlan::row_bytes() const { return bytes / std::max<std::int64_t>(1, rows()); }

Shape batch_shape(const Field& field, std::int64_t batch) {
  Shape shape{batch};
  shape.insert(shape.end(), field.shape.begin(), field.shape.end());
  return shape;
}

FieldPlan plan_field(const Field& field, LocalPart part, std::int64_t batch) {
  MW_CHECK(part.region.global == batch_shape(field, batch), "field '{}': {} for a batch of {}",
           field.name, to_string(part.region.global), batch);
  MW_CHECK(part.shape.size() == part.region.global.size());
  MW_CHECK(part.region.offset.size() == part.region.global.size());
  MW_CHECK(part.region.offset[0] >= 0 && part.shape[0] >= 0 &&
           part.region.offset[0] + part.shape[0] <= batch);
  FieldPlan plan;
  const Shape offset(part.region.offset.begin() + 1, part.region.offset.end());
  const Shape local(part.shape.begin() + 1, part.shape.end());
  plan.runs = runs_of(field.shape, offset, local);
  plan.bytes = num_elements(part.shape) * static_cast<std::int64_t>(size_of(field.dtype));
  plan.part = std::move(part);
  return plan;
}

}  // namespace meshwork::data
