#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/cuda/driver.h"
#include "device/cuda/function.h"
#include "device/cuda/halt.h"
#include "device/cuda/source.h"

namespace meshwork::cuda {

struct Module;

/// What tells a GPU from all others, in every process.
using GpuId = std::array<std::int64_t, 2>;

/// A GPU of this machine, opened once for the process: devices that share it share its context and
/// what was compiled for it.
class Gpu {
 public:
  /// Number `number` of those that CUDA_VISIBLE_DEVICES leaves. Throws a configuration Error where
  /// it is not there, too old, or too new for NVRTC.
  static Gpu& open(int number);
  /// Throws the same, and opens none.
  static void check_usable(int number) { Gpu{number}; }
  static int count();

  int number() const { return number_; }
  const std::string& name() const { return name_; }
  std::int64_t memory() const { return memory_; }  ///< bytes
  int multiprocessors() const { return multiprocessors_; }
  double flops() const;  ///< float32 multiplications and additions per second, at most
  int capability() const { return capability_; }  ///< 90: compute capability 9.0
  bool has_tensor_float32() const { return capability_ >= 80; }

  /// The calling thread's calls of the driver are about this GPU from now on.
  void make_current() const;

  /// A kernel of `source`, which the first call has compiled for this GPU.
  Function function(const Source& source, const std::string& kernel);
  /// Waits for all kernels that were asked for so far, and loads them.
  void load_all();

  Halt& halt() const { return halt_; }

  /// From now on kernels of this GPU read the memory of the other; false where no link bears it.
  bool reach(const Gpu& other);

  GpuId id() const;
  /// Whether processes may share its memory and its events.
  bool is_shared_by_processes() const;
  /// Whether a link bears reads of the memory of a GPU that other processes have opened. Of one
  /// that CUDA_VISIBLE_DEVICES hides nobody can tell: true.
  bool has_link_to(const GpuId& other) const;

 private:
  friend class Function;

  explicit Gpu(int number);
  void open_context();
  CUfunction load(Kernel& kernel);
  int attribute(CUdevice_attribute attribute) const;

  mutable Halt halt_;
  int number_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  std::string name_;
  std::int64_t memory_ = 0;
  int multiprocessors_ = 0;
  int capability_ = 0;
  int architecture_ = 0;                                    ///< that code is compiled for
  std::mutex mutex_;                                        ///< of what follows
  std::map<std::string, std::shared_ptr<Module>> modules_;  ///< by what is compiled
  std::vector<std::shared_ptr<Kernel>> asked_for_;          ///< and not loaded
  std::map<int, bool> reached_;
};

}  // namespace meshwork::cuda
