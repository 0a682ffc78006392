#pragma once

#include <memory>
#include <utility>

#include "device/cuda/driver.h"

namespace meshwork::cuda {

class Gpu;
struct Kernel;

/// A kernel of a GPU, which may still be compiled.
class Function {
 public:
  Function(Gpu& gpu, std::shared_ptr<Kernel> kernel) : gpu_(&gpu), kernel_(std::move(kernel)) {}

  /// Waits until it is compiled and loaded, if Gpu::load_all has not.
  CUfunction handle() const;

 private:
  Gpu* gpu_;
  std::shared_ptr<Kernel> kernel_;
};

}  // namespace meshwork::cuda
