#pragma once

#include <string>
#include <utility>
#include <vector>

namespace emulated_gpu {

struct Program {
  std::string source, name;
  std::vector<std::pair<std::string, std::string>> headers;  ///< name, text
};

struct Compiled {
  bool good = false;
  std::string log;
  std::string library;  ///< the bytes of a shared library
};

/// Compiles kernels with the host's compiler, or takes what an earlier process left in the folder
/// that EMULATED_GPU_CACHE names. Errors of the real NVRTC count as its own. Of NVRTC's options
/// only definitions and include folders count.
Compiled compile(const Program& program, const std::vector<std::string>& options);

}  // namespace emulated_gpu
