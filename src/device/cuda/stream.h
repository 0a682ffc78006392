#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "device/cuda/gpu.h"
#include "device/stream.h"

namespace meshwork::cuda {

class CudaEvent final : public Event {
 public:
  /// `flags` beside CU_EVENT_DISABLE_TIMING.
  explicit CudaEvent(const Gpu& gpu, unsigned flags = CU_EVENT_DEFAULT);
  /// Takes over one that was opened.
  CudaEvent(const Gpu& gpu, CUevent event) : gpu_(gpu), event_(event) {}
  ~CudaEvent() override;
  void wait() override;

  CUevent handle() const { return event_; }

 private:
  const Gpu& gpu_;
  CUevent event_ = nullptr;
};

/// How many blocks of how many threads run a kernel.
struct Grid {
  std::int64_t blocks = 0;  ///< none: nothing is launched
  int threads = 256;
};

/// Blocks for so many elements, one for a thread; of many, threads take several (FOR_EACH).
Grid grid_of(std::int64_t elements);

class CudaStream final : public Stream {
 public:
  explicit CudaStream(Gpu& gpu);
  ~CudaStream() override;

  bool is_immediate() const override { return false; }
  void copy_to_device(std::byte* device, const std::byte* host, std::int64_t bytes) override;
  void copy_to_host(std::byte* host, const std::byte* device, std::int64_t bytes) override;
  void copy(std::byte* to, const std::byte* from, std::int64_t bytes) override;
  void record(Event& event) override;
  void wait_for(const Event& event) override;
  Launch recorded(const std::function<void()>& enqueue) override;
  void mark(std::int32_t number) override;
  std::int32_t last_mark() const override;
  std::optional<std::int32_t> failed_behind() const override;
  void prepare() override;
  void drain() noexcept override;

  void fill_zero(std::byte* to, std::int64_t bytes);
  void launch(CUfunction function, Grid grid, void** arguments);

  Gpu& gpu() const { return gpu_; }
  CUstream handle() const { return stream_; }

 private:
  Gpu& gpu_;
  std::shared_ptr<std::int32_t> marked_;  ///< memory of the host that a kernel writes marks to
  std::atomic<const volatile std::int32_t*> seen_ = nullptr;  ///< it, for other threads
  CUstream stream_ = nullptr;
};

/// The stream of a CUDA device.
CudaStream& cuda_stream(Stream& stream);
/// The same; breaks where it is not of this GPU.
CudaStream& cuda_stream(Stream& stream, const Gpu& gpu);

/// Enqueues a kernel of `source`, which is compiled from now on. The arguments have the types of
/// its parameters.
///
///     const Source kSource{"scale", "KERNEL(scale, float* y, float x, int64 count) {..}", ""};
///     return kernel_launch(stream, kSource, "scale", grid_of(n), y, 2.0F, n);
template <class... Arguments>
Launch kernel_launch(CudaStream& stream, const Source& source, const std::string& kernel, Grid grid,
                     Arguments... arguments) {
  if (grid.blocks == 0) return [] {};
  const Function function = stream.gpu().function(source, kernel);
  return [&stream, function, grid, arguments...]() mutable {
    std::array<void*, sizeof...(Arguments)> places{&arguments...};
    stream.launch(function.handle(), grid, places.data());
  };
}

}  // namespace meshwork::cuda
