#pragma once

#include <functional>

#include "device/cuda/stream.h"

namespace meshwork::cuda {

/// Measures what work takes on the GPU.
class Timer {
 public:
  /// The stream outlives it.
  explicit Timer(CudaStream& stream);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// Microseconds from the beginning to the end of what `enqueue` enqueues on the stream, behind
  /// all that is there. The host waits for it. Throws what went wrong on the way.
  double microseconds(const std::function<void()>& enqueue);

 private:
  CudaStream& stream_;
  CUevent begin_ = nullptr, end_ = nullptr;
};

}  // namespace meshwork::cuda
