#pragma once

#include <cstdint>
#include <vector>

#include "base/shape.h"
#include "data/dataset.h"
#include "data/runs.h"

namespace meshwork::data {

/// The part of a global batch tensor [batch, ...] that one device holds.
struct LocalPart {
  Window window;
  Shape shape;  ///< local extents; may hold zeros
  /// In memory, panel p has the p-th part of the numbers of every sample, one sample after the
  /// other; 1: samples as they are. Whole samples only, of a multiple of so many numbers.
  std::int64_t panels = 1;
};

/// How to read one field of a batch.
struct FieldPlan {
  LocalPart part;
  Runs runs;                 ///< of a sample
  std::vector<Runs> panels;  ///< the parts of a sample, of which each goes to a panel
  std::int64_t bytes = 0;

  std::int64_t rows() const { return part.shape[0]; }
  std::int64_t row_bytes() const;
  /// Bytes before a row of panel `panel` of `panels`.
  std::int64_t begin(std::int64_t panels, std::int64_t panel, std::int64_t row) const {
    return (panel * rows() + row) * (row_bytes() / panels);
  }

  /// Where some samples of a panel are read at a time: how many parts there are, of all panels.
  std::int64_t parts() const { return bytes == 0 ? 0 : part.panels * parts_of_panel(); }
  std::int64_t parts_of_panel() const;
  std::int64_t rows_of_part() const;
};

/// Shape of a whole batch.
Shape batch_shape(const Field& field, std::int64_t batch);

FieldPlan plan_field(const Field& field, LocalPart part, std::int64_t batch);

}  // namespace meshwork::data
