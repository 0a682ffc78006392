#pragma once

#include <vector>

#include "exec/executable.h"

namespace meshwork {

/// A program of a step and its device memory: what is filled before it and read after it.
struct BoundProgram {
  const Executable* executable = nullptr;
  std::vector<TensorView> fields;  ///< of the split
  TensorView iteration, learning_rate;
  /// Scalars: the loss and whether the step was taken, if the program says so; of each metric two.
  std::vector<TensorView> results;
};

}  // namespace meshwork
