#pragma once

#include <string>

#include "model/layers/lora.h"

namespace meshwork::layers {

/// Rows of one width, which numbers choose.
struct TableArguments {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  Initializer initializer;
  bool mask_zero = false;
  Lora lora = {};
};

/// The arguments of Embedding.
TableArguments read_table(config::Reader& args);

/// The variable "embeddings" [rows, width] under `prefix`, "" or "token_embedding/", not adapted.
ValueId add_table(Scope& scope, const TableArguments& table, const std::string& prefix = "");

/// The rows of a variable that add_table() gave, [.., width], with the mask that they have.
ValueId take_rows(Scope& scope, const TableArguments& table, ValueId embeddings, ValueId numbers);

/// [steps, width]: the first rows of a variable "embeddings" [rows, width] under `prefix`, one for
/// each step of what has the shape [.., steps, width]; of a part of a sequence [batch, steps,
/// width]. An Error if there are fewer rows.
ValueId add_positions(Scope& scope, const config::Reader& args, const TableArguments& table,
                      const Shape& shape, const std::string& prefix = "");

}  // namespace meshwork::layers
