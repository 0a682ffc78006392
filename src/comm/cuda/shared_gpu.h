#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "comm/cuda/hosts.h"
#include "comm/cuda/peer.h"
#include "device/cuda/gpu.h"
#include "device/device.h"

namespace meshwork::cuda {

/// A handle of the driver, as processes pass it to each other.
using Handle = std::array<std::int64_t, CU_IPC_HANDLE_SIZE / sizeof(std::int64_t)>;

/// A place in memory of another process's GPU.
struct SharedPlace {
  Handle memory{};
  std::int64_t offset = -1;  ///< bytes; -1: it is not shared
};

/// What one process lets others reach of its GPU, and what it has opened of theirs. Who is still at
/// it nobody can tell, so all stays until all members come to the end of it: the last that goes of
/// its communicators and of memory that it gave. Behind an error, where others may not come, what
/// was shared stays until the process ends.
class SharedGpu : public std::enable_shared_from_this<SharedGpu> {
 public:
  /// `hosts` of all members, who make it together; `device` is on `gpu`.
  SharedGpu(std::shared_ptr<Hosts> hosts, std::shared_ptr<Device> device, const Gpu& gpu);
  ~SharedGpu();
  SharedGpu(const SharedGpu&) = delete;
  SharedGpu& operator=(const SharedGpu&) = delete;

  const Gpu& gpu() const { return gpu_; }

  /// Zeroed device memory; null where there is not enough.
  std::shared_ptr<std::byte> allocate(std::int64_t bytes);
  /// slots_bytes() of it for as long as this lives; many calls share an allocation.
  std::byte* allocate_slots(std::size_t bytes);

  /// How others find `bytes` of the memory that it gave.
  SharedPlace find(const void* begin, std::size_t bytes) const;
  /// A place of another process in the address space of this one; null where it cannot be reached.
  std::byte* open(const SharedPlace& place);

  /// An event that others open by its handle; null where the GPU has none such, or no more.
  std::unique_ptr<CudaEvent> make_event(Handle& handle) const;
  /// The event of another process; null where it cannot be reached.
  std::unique_ptr<CudaEvent> open_event(const Handle& handle) const;
  /// Keeps what others have opened.
  void keep(std::shared_ptr<PeerEvents> events) { kept_.push_back(std::move(events)); }

 private:
  struct Export {
    std::shared_ptr<std::byte> memory;
    std::int64_t bytes = 0;
    std::optional<Handle> handle{};  ///< none: the driver does not share it
  };

  /// Zeroed memory that others may open; null where there is not enough.
  std::byte* add(std::int64_t bytes);
  void close_all() noexcept;
  bool all_have_closed() noexcept;

  int exceptions_;
  std::shared_ptr<Hosts> hosts_;
  std::shared_ptr<Device> device_;
  const Gpu& gpu_;
  std::vector<Export> exports_;
  std::map<Handle, std::byte*> imports_;
  std::vector<std::shared_ptr<PeerEvents>> kept_;
  std::byte* free_slots_ = nullptr;  ///< the rest of the last memory of slots
  std::size_t free_slot_bytes_ = 0;
};

}  // namespace meshwork::cuda
