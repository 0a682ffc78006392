#pragma once

#include <nccl.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace emulated_gpu {

/// The most members of a communicator.
constexpr int kMostRanks = 16;

/// Bytes on their way from one member to another, in memory of both.
struct alignas(64) Channel {
  static constexpr std::size_t kBytes = 64 << 10U;

  /// As many as there is room for, or as there are; how many.
  std::size_t write(const std::byte* from, std::size_t bytes);
  std::size_t read(std::byte* to, std::size_t bytes);

  std::atomic<std::uint64_t> written;
  alignas(64) std::atomic<std::uint64_t> taken;
  std::array<std::byte, kBytes> ring;
};

/// Where the members of a communicator find each other: a file that all map. Zero bytes are a fresh
/// one.
struct Board {
  struct Member {
    std::atomic<int> is_there;
    std::array<std::byte, 16> device;  ///< its CUuuid
  };

  Channel& between(int from, int to) {
    return channels[static_cast<std::size_t>(from * kMostRanks + to)];
  }

  std::atomic<int> size;  ///< as the first member says it; 0: nobody has come
  std::atomic<int> come;
  std::atomic<int> leaving;
  std::array<Member, kMostRanks> members;
  std::array<Channel, kMostRanks * kMostRanks> channels;
};

/// A new board as other processes and this one open it.
ncclResult_t make_board(ncclUniqueId& id);
/// The board of an id; nullptr where whoever made it has gone.
std::shared_ptr<Board> open_board(const ncclUniqueId& id);
/// Takes the file of a board from this process, if it is this one's; those who have it open keep
/// it.
void close_board(const ncclUniqueId& id);

}  // namespace emulated_gpu
