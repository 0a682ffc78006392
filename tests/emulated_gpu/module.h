#pragma once

#include <cuda.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "emulated_gpu/block.h"
#include "emulated_gpu/context.h"
#include "emulated_gpu/runtime.h"

namespace emulated_gpu {

class Module;

struct Function {
  std::string name;
  const EmulatedGpuKernel* kernel = nullptr;
  const Module* module = nullptr;
};

/// A library of kernels, in a context.
class Module {
 public:
  /// nullptr if the image is no library of kernels.
  static Module* load(Context& context, const void* image);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  Context& context() const { return context_; }
  /// nullptr if there is none of that name.
  const Function* find(const std::string& name);
  /// Where the shared memory of blocks lies that run on this thread of the system.
  Memory shared_memory() const;

 private:
  Module(Context& context, void* library);

  Context& context_;
  void* library_;
  std::mutex mutex_;
  std::map<std::string, Function> functions_;
};

/// A copy of the arguments of a launch, which the caller may change after it.
class Arguments {
 public:
  Arguments(const EmulatedGpuKernel& kernel, void* const* arguments);
  void** pointers() { return pointers_.data(); }

 private:
  std::vector<std::vector<std::byte>> values_;
  std::vector<void*> pointers_;
};

/// Runs all blocks of a launch, with small floats flushed to zero as by NVRTC's --ftz=true.
CUresult run(const Function& function, Arguments& arguments, Extent grid, Extent block);

}  // namespace emulated_gpu
