#pragma once

#include <cstddef>

namespace emulated_gpu {

/// Whole pages for memory of devices, filled with 0xCD, with a page out of reach on both sides;
/// nullptr where no more are to be had. They lie in one region, which nobody may touch but within
/// an Access: who does ends the process with a line that says so.
std::byte* map_pages(std::size_t bytes);
void unmap_pages(std::byte* pages);

/// Turns pages into those of `file`, which has as many bytes, and what they hold goes with them.
void share_pages(std::byte* pages, int file);
/// Pages of another process's file in the region; nullptr where no more are to be had.
std::byte* map_file(int file, std::size_t bytes);

constexpr std::size_t kPage = 4096;
inline std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/// While one lives the region can be touched, by whichever thread.
class Access {
 public:
  Access();
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
};

/// After an Access the region stays open until this is called where none lives: when the host has
/// waited.
void close_region();

/// Puts in the handler of faults, also where another has taken its place.
void watch_faults();

/// A stack for the handler on the calling thread, as long as it lives: that of a fiber may be full.
class FaultStack {
 public:
  FaultStack();
  ~FaultStack();
  FaultStack(const FaultStack&) = delete;
  FaultStack& operator=(const FaultStack&) = delete;

 private:
  std::byte* stack_;
};

}  // namespace emulated_gpu
