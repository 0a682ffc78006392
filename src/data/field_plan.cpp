#include "data/field_plan.h"

#include <utility>

#include "base/check.h"

namespace meshwork::data {

DType batch_dtype(const Field& field, bool augment) {
  switch (arrival_of(field, augment)) {
    case Arrival::kRows:
      return DType::kInt32;
    case Arrival::kStored:
      return field.source->info().dtype;
    case Arrival::kAugmented:
      break;
  }
  return field.dtype;
}

Shape batch_shape(const Field& field, bool augment, std::int64_t batch) {
  Shape shape{batch};
  const Arrival arrival = arrival_of(field, augment);
  if (arrival == Arrival::kRows) return shape;
  const Shape sample = arrival == Arrival::kAugmented ? field.shape : field.stored_shape();
  shape.insert(shape.end(), sample.begin(), sample.end());
  return shape;
}

FieldPlan plan_field(const Field& field, bool augment, LocalPart part, std::int64_t batch) {
  const Shape global = batch_shape(field, augment, batch);
  MW_CHECK(part.region.global == global, "field '{}': {} for a batch of {}", field.name,
           to_string(part.region.global), batch);
  MW_CHECK(part.shape.size() == global.size() && part.region.offset.size() == global.size());
  MW_CHECK(part.region.offset[0] >= 0 && part.shape[0] >= 0 &&
           part.region.offset[0] + part.shape[0] <= batch);
  const auto of_sample = [](const Shape& shape) { return Shape(shape.begin() + 1, shape.end()); };
  FieldPlan plan;
  plan.runs = runs_of({of_sample(global), of_sample(part.region.offset)}, of_sample(part.shape));
  plan.bytes =
      num_elements(part.shape) * static_cast<std::int64_t>(size_of(batch_dtype(field, augment)));
  plan.part = std::move(part);
  return plan;
}

}  // namespace meshwork::data
