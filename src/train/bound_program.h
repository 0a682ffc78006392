#pragma once

#include <vector>

#include "exec/executable.h"
#include "train/packed_copy.h"

namespace meshwork {

/// A program of a step and its device memory: what is filled before it and read after it.
struct BoundProgram {
  const Executable* executable = nullptr;
  std::vector<TensorView> fields;  ///< of the split
  /// The fields, if they are small, the iteration and the learning rate.
  PackedCopy given;
  /// Scalars: the loss and whether the step was taken, if the program says so; of each metric two.
  PackedCopy results;
};

}  // namespace meshwork
