#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "emulated_gpu/stream.h"

namespace emulated_gpu {

/// The primary context of a device: its streams, and whether it has failed for good.
class Context {
 public:
  explicit Context(int device) : device_(device) {}

  int device() const { return device_; }
  CUresult failure() const { return failure_; }
  void fail(CUresult result);
  std::uint64_t next_stream() { return ++last_stream_; }

  void retain() { ++users_; }
  /// The last user's takes down all streams and memory; false where there is no user.
  bool release();
  bool is_alive() const { return users_ > 0; }
  /// False where it is enabled already.
  bool enable_peer(int device);

  Stream* create_stream(unsigned flags);
  void destroy_stream(Stream* stream);
  /// The stream of a handle: that without a name for nullptr. nullptr if there is none such.
  Stream* find_stream(CUstream handle);
  /// Waits for all streams, or for those alone that order themselves with the stream without a
  /// name.
  void synchronize(bool blocking_only);

 private:
  int device_;
  std::atomic<CUresult> failure_{CUDA_SUCCESS};
  std::atomic<std::uint64_t> last_stream_{0};
  std::atomic<int> users_{0};
  std::mutex mutex_;
  std::map<Stream*, std::shared_ptr<Stream>> streams_;
  std::shared_ptr<Stream> unnamed_;
  std::set<int> peers_;
};

bool initialized();
void initialize();
/// The context of a device; nullptr if there is no such device.
Context* context_of(int device);
/// That of the calling thread.
Context*& current_context();
/// Whether the calling thread has a context that still works.
CUresult check_context();

/// Whether it is the handle of the stream without a name, which every context has.
bool is_unnamed(CUstream handle);
/// The stream of a handle, of whichever device; also where a context has failed, which is the
/// result then.
CUresult find_stream(CUstream handle, Stream*& stream);

/// Does `work` in the order of the stream. On the stream without a name the caller waits: for
/// other streams first, then for the work.
CUresult enqueue(CUstream stream, Stream::Work work);

}  // namespace emulated_gpu
