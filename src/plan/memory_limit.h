#pragma once

#include <string>

#include "config/config.h"
#include "plan/plan.h"

namespace meshwork {

/// A program as it is told of.
struct LimitedProgram {
  std::string name;     ///< "a training step with a batch of 128"
  std::string way_out;  ///< "lower fit.batch_size"; "": there is none of its own
};

/// Throws the configuration Error of a program that takes more than the file allows.
void check_memory_limit(const config::Config& config, const LimitedProgram& program,
                        const MemoryUse& use, int device);

}  // namespace meshwork
