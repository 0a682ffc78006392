#pragma once

#include <cstdint>

#include "base/runs.h"
#include "base/shape.h"
#include "data/dataset.h"

namespace meshwork::data {

/// The part of a global batch tensor [batch, ...] that one device holds.
struct LocalPart {
  Region region;
  Shape shape;      ///< local extents; may hold zeros
  int readers = 1;  ///< devices of this process that hold parts of the same samples
};

/// How to read one field of a batch.
struct FieldPlan {
  LocalPart part;
  std::vector<Run> runs;  ///< of a sample
  std::int64_t bytes = 0;
};

/// Elements of a batch as the program gets them, and its shape.
DType batch_dtype(const Field& field, bool augment);
Shape batch_shape(const Field& field, bool augment, std::int64_t batch);

FieldPlan plan_field(const Field& field, bool augment, LocalPart part, std::int64_t batch);

}  // namespace meshwork::data
