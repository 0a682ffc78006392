#pragma once

#include <vector>

#include "data/dataset.h"
#include "data/field_spec.h"

namespace meshwork::data {

/// Gives each field that is a mask the operations of the field that it is a mask of. Throws a
/// configuration Error with place where that is no field, or a mask itself.
void link_masks(std::vector<FieldSpec>& fields);

/// Throws a configuration Error with place for a mask of another height or width than its image,
/// and for a field with the height and width of images whose pixels are moved, of which nobody says
/// whether they are moved, too.
void check_masks(const std::vector<FieldSpec>& specs, const Split& split);

/// Throws a configuration Error unless the label that a mask has beyond its image may be one.
void check_fill_value(const Field& field);

}  // namespace meshwork::data
