#pragma once

#include <string>

namespace emulated_gpu {

/// A line for each kernel of a library that declares more shared memory than a block can have. What
/// functions that it calls declare is not counted.
std::string excess_of_shared_memory(const std::string& library);

}  // namespace emulated_gpu
