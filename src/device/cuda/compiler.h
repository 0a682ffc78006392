#pragma once

#include <future>
#include <string>

#include "device/cuda/driver.h"
#include "device/cuda/source.h"

namespace meshwork::cuda {

/// Opens NVRTC, the compiler. Throws a configuration Error where it is missing.
void check_compiler();
std::string compiler_version();  ///< "13.0"

/// What code for GPUs of a compute capability (90: 9.0) is compiled for: the newest architecture of
/// that generation that NVRTC knows and that they run. 0: it knows none.
int architecture_for(int capability);

/// A source that is compiled for an architecture by other threads, as many at a time as there are
/// cores. What was compiled is kept (cache.h).
class Compilation {
 public:
  Compilation(Source source, int architecture);

  /// Loads it into the context of the calling thread, after a wait until it is compiled.
  CUmodule load() const;

 private:
  struct Code {
    std::string binary;
    bool is_kept = false;  ///< from an earlier program: it may not be what it was
  };

  std::string text_;
  std::string name_;
  int architecture_;
  std::shared_future<Code> code_;
};

}  // namespace meshwork::cuda
