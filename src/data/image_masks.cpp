#include "data/image_masks.h"

#include <algorithm>

#include "base/nearest.h"

namespace meshwork::data {
namespace {

using config::fail_at;

std::vector<std::string> names_of_others(const std::vector<FieldSpec>& fields,
                                         const FieldSpec& than) {
  std::vector<std::string> names;
  for (const FieldSpec& field : fields) {
    if (field.name != than.name) names.push_back(field.name);
  }
  return names;
}

const FieldSpec& image_of(const FieldSpec& mask, const std::vector<FieldSpec>& fields) {
  const std::string& name = mask.mask_of->field;
  const auto found = std::ranges::find(fields, name, &FieldSpec::name);
  if (found == fields.end() || name == mask.name) {
    fail_at(mask.at, "field '{}': mask_of must name another field, not '{}'{}", mask.name, name,
            suggestion(name, names_of_others(fields, mask)));
  }
  if (found->is_mask()) {
    fail_at(mask.at, "field '{}': mask_of names '{}', which is a mask itself; name the images",
            mask.name, name);
  }
  return *found;
}

/// The first operation that moves pixels; nullptr if there is none.
const ImageOp* moving_op(const std::vector<ImageOp>& ops) {
  const auto found =
      std::ranges::find_if(ops, [](const ImageOp& op) { return op.for_masks != nullptr; });
  return found == ops.end() ? nullptr : &*found;
}

/// Whether a sample has a height and a width, and these.
bool has_size_of(const Field& field, const Field& image) {
  const Shape mine = field.stored_shape(), its = image.stored_shape();
  return mine.size() >= 2 && its.size() >= 2 && mine[0] == its[0] && mine[1] == its[1];
}

void check_size(const FieldSpec& spec, const Field& mask, const Field& image) {
  if (has_size_of(mask, image)) return;
  fail_at(spec.at,
          "field '{}' is a mask of '{}', but its samples have shape {}, and those of '{}' {}: "
          "height and width must be the same",
          mask.name, image.name, to_string(mask.stored_shape()), image.name,
          to_string(image.stored_shape()));
}

void check_said(const FieldSpec& spec, const Field& field, const Field& image) {
  if (spec.mask_of || !spec.augment.empty() || field.name == image.name) return;
  const ImageOp* const op = moving_op(image.augment);
  if (op == nullptr || !has_size_of(field, image)) return;
  fail_at(spec.at,
          "field '{}' has the height and width of '{}', whose pixels {} moves: to move those of "
          "'{}' alike, give it mask_of: {}; to leave them where they are, mask_of: {}",
          field.name, image.name, op->name, field.name, image.name, kNoMask);
}

}  // namespace

void link_masks(std::vector<FieldSpec>& fields) {
  for (FieldSpec& field : fields) {
    if (!field.is_mask()) continue;
    const FieldSpec& image = image_of(field, fields);
    if (moving_op(image.augment) == nullptr) continue;
    field.augment = ops_for_masks(image.augment, static_cast<float>(field.mask_of->fill_value));
  }
}

void check_masks(const std::vector<FieldSpec>& specs, const Split& split) {
  for (const FieldSpec& spec : specs) {
    const Field* const field = split.find(spec.name);
    if (field == nullptr) continue;
    for (const Field& image : split.fields) {
      if (!spec.is_mask()) {
        check_said(spec, *field, image);
      } else if (spec.mask_of->field == image.name) {
        check_size(spec, *field, image);
      }
    }
  }
}

void check_fill_value(const Field& field) {
  if (!field.is_mask() || field.augment.empty()) return;
  const std::int64_t limit = std::max(field.classes, field.label_limit);
  const std::int64_t label = field.fill_value;
  const bool is_class = label >= 0 && label < limit;
  if (limit == 0 || is_class || field.ignored_label == label) return;
  fail(ExitCode::kConfiguration,
       "field '{}': fill_value {} is not in 0..{}, the classes; take one of these, or a label that "
       "the loss ignores (ignore_class)",
       field.name, label, limit - 1);
}

}  // namespace meshwork::data
