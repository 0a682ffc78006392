#pragma once

#include <string>

namespace meshwork::cuda {

/// CUDA C++ without includes, behind the words of prelude.h.
struct Source {
  std::string name;     ///< of an error: "transpose"
  std::string text;     ///< kernels, each KERNEL(name, parameters) { .. }
  std::string defines;  ///< "#define T float\n", before the text
};

}  // namespace meshwork::cuda
