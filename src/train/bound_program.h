#pragma once

#include <vector>

#include "exec/executable.h"

namespace meshwork {

/// A program of a step and its device memory: what is filled before it and read after it.
struct BoundProgram {
  const Executable* executable = nullptr;
  std::vector<TensorView> fields;  ///< of the split
  TensorView iteration, learning_rate;
  std::vector<TensorView> results;  ///< scalars: the loss, if there is one, then of each metric two
  bool has_loss = false;
};

}  // namespace meshwork
