#pragma once

#include <string>

namespace meshwork {

/// What computes large convolutions on GPUs, for people: "cuDNN 9.19.0", or "of its own: " and why.
std::string gpu_convolutions();

}  // namespace meshwork
