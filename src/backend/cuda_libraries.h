#pragma once

#include <string>

namespace meshwork {

/// What computes large convolutions and plain attention of 16 bits on GPUs: "cuDNN 9.19.0", or "of
/// its own: " and why.
std::string convolution_library();

}  // namespace meshwork
