#include "data/field_plan.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/parallel.h"

namespace meshwork::data {
namespace {

std::vector<Runs> panels_of(const Runs& runs, std::int64_t panels) {
  if (panels == 1) return {runs};
  MW_CHECK(runs.starts.size() == 1 && runs.length % panels == 0, "{} runs of {} in {} panels",
           runs.starts.size(), runs.length, panels);
  const std::int64_t length = runs.length / panels;
  std::vector<Runs> result;
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    result.push_back({length, {runs.starts[0] + panel * length}});
  }
  return result;
}

}  // namespace

std::int64_t FieldPlan::row_bytes() const { return bytes / std::max<std::int64_t>(1, rows()); }

std::int64_t FieldPlan::parts_of_panel() const { return ceil_divide(rows(), rows_of_part()); }

std::int64_t FieldPlan::rows_of_part() const {
  constexpr std::int64_t kBytes = std::int64_t{8} << 10U, kMostRows = 32;
  const std::int64_t row = std::max<std::int64_t>(1, row_bytes() / part.panels);
  return std::clamp<std::int64_t>(kBytes / row, 1, kMostRows);
}

Shape batch_shape(const Field& field, std::int64_t batch) {
  Shape shape{batch};
  shape.insert(shape.end(), field.shape.begin(), field.shape.end());
  return shape;
}

FieldPlan plan_field(const Field& field, LocalPart part, std::int64_t batch) {
  MW_CHECK(part.window.global == batch_shape(field, batch), "field '{}': {} for a batch of {}",
           field.name, to_string(part.window.global), batch);
  MW_CHECK(part.shape.size() == part.window.global.size());
  MW_CHECK(part.window.offset.size() == part.window.global.size());
  MW_CHECK(part.window.offset[0] >= 0 && part.shape[0] >= 0 &&
           part.window.offset[0] + part.shape[0] <= batch);
  FieldPlan plan;
  const Shape offset(part.window.offset.begin() + 1, part.window.offset.end());
  const Shape local(part.shape.begin() + 1, part.shape.end());
  plan.runs = runs_of(field.shape, offset, local);
  plan.panels = panels_of(plan.runs, part.panels);
  plan.bytes = num_elements(part.shape) * static_cast<std::int64_t>(size_of(field.dtype));
  plan.part = std::move(part);
  return plan;
}

}  // namespace meshwork::data
