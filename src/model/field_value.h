#pragma once

#include "graph/builder.h"
#include "model/model.h"

namespace meshwork {

/// What a model reads of a field: [batch, shape..] of its dtype. The field is an input of the
/// program of that name; what is stored otherwise is converted behind it, once.
ValueId field_value(GraphBuilder& b, const Field& field, std::int64_t batch);

}  // namespace meshwork
