#pragma once

#include <string>

#include "config/config.h"
#include "plan/plan.h"

namespace meshwork {

/// Throws the configuration Error of a `program` that takes more than the file allows: "a training
/// step with a batch of 128".
void check_memory_limit(const config::Config& config, const std::string& program,
                        const MemoryUse& use, int device);

}  // namespace meshwork
