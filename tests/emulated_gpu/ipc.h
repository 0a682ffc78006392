#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>

#include "emulated_gpu/stream.h"

namespace emulated_gpu {

/// What a handle of memory or of an event says: which bytes of which file of which process.
struct SharedHandle {
  std::int64_t process = 0;
  std::int32_t file = -1;
  std::int32_t index = 0;                       ///< of an event in the file
  std::uint64_t bytes = 0;                      ///< of memory
  std::int32_t user_file = -1, user_index = 0;  ///< of memory: where its users are counted
};

/// How far an event is, in memory of several processes. Zero bytes are a fresh one.
struct EventState;

/// An event that several processes record and wait for.
class SharedEvent {
 public:
  SharedEvent(EventState& state, const SharedHandle& handle, bool is_own)
      : state_(state), handle_(handle), is_own_(is_own) {}
  /// Of the process that made it: where others have it open still, a line and the end.
  ~SharedEvent();
  SharedEvent(const SharedEvent&) = delete;
  SharedEvent& operator=(const SharedEvent&) = delete;

  const SharedHandle& handle() const { return handle_; }
  /// A mark behind all that were recorded before.
  std::shared_ptr<Mark> record();
  /// That recorded last, in whichever process; nullptr if none was.
  std::shared_ptr<Mark> last();

  /// How many others have it open: of memory, whose users an event of its own counts.
  void add_user(int number);
  int users() const;

 private:
  EventState& state_;
  SharedHandle handle_;
  bool is_own_;
};

/// nullptr where the process has too many.
std::shared_ptr<SharedEvent> make_shared_event();
/// That of another process; nullptr where it cannot be opened.
std::shared_ptr<SharedEvent> open_shared_event(const SharedHandle& handle);

/// Before memory is freed: where others have it open still, a line and the end.
void check_not_open(CUdeviceptr address);

/// A file of another process; -1 where it cannot be opened.
int open_file(std::int64_t process, int file);

}  // namespace emulated_gpu
