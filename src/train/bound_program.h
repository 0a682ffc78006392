#pragma once

#include <vector>

#include "exec/executable.h"

namespace meshwork {

/// A program of a step and its memory: what is filled before it and read after it.
struct BoundProgram {
  struct Metric {
    TensorView total, count;
  };
  const Executable* executable = nullptr;
  std::vector<TensorView> fields;  ///< of the split
  TensorView iteration, learning_rate, loss;
  std::vector<Metric> metrics;
};

}  // namespace meshwork
