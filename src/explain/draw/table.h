#pragma once

#include <string>
#include <vector>

#include "explain/draw/pen.h"

namespace meshwork {

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

/// A table as Keras draws that of model.summary(): heavy lines around the titles, light ones
/// between the rows. A row has a cell for each column, of one or more lines; cells are wrapped
/// where the table would be wider than the pen allows.
std::string draw_table(const std::vector<Column>& columns,
                       const std::vector<std::vector<std::string>>& rows, const Pen& pen);

}  // namespace meshwork
