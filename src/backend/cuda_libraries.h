#pragma once

#include <map>
#include <string>

namespace meshwork {

/// What computes large convolutions and plain attention of 16 bits on GPUs: "cuDNN 9.19.0", or "of
/// its own: " and why.
std::string convolution_library();

/// Throws an Error where what computes products is missing.
void check_product_library();

/// The versions of all that decides on the last bits of what GPUs compute: {"cublaslt": "13.0.2",
/// "cudnn": "cuDNN 9.19.0", "nvrtc": "13.0"}.
std::map<std::string, std::string> gpu_library_versions();

}  // namespace meshwork
