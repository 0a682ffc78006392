#pragma once

#include <future>
#include <string>

#include "device/cuda/driver.h"
#include "device/cuda/source.h"

namespace meshwork::cuda {

/// Opens NVRTC, the compiler. Throws a configuration Error where it is missing.
void check_compiler();

/// A source that is compiled for GPUs of a compute capability (90: 9.0) by other threads, as many
/// at a time as there are cores. What was compiled is kept (cache.h).
class Compilation {
 public:
  Compilation(Source source, int capability);

  /// Loads it into the context of the calling thread, after a wait until it is compiled.
  CUmodule load() const;

 private:
  struct Code {
    std::string binary;
    bool is_kept = false;  ///< from an earlier program: it may not be what it was
  };

  std::string text_;
  std::string name_;
  int capability_;
  std::shared_future<Code> code_;
};

}  // namespace meshwork::cuda
