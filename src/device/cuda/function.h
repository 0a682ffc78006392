#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "device/cuda/driver.h"

namespace meshwork::cuda {

class Gpu;
struct Module;

/// A kernel that was asked for.
struct Kernel {
  Module* module;  ///< it is one of
  std::string name;
  std::atomic<CUfunction> loaded{nullptr};
};

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
