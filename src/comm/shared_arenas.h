#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace meshwork {

/// Memory that each rank of a communicator has asked for, mapped by all of them.
class SharedArenas {
 public:
  /// `bytes` for this rank; nothing, for all alike, where the ranks cannot share memory.
  static std::shared_ptr<const SharedArenas> create(MPI_Comm comm, std::int64_t bytes);

  /// The same memory for a group whose members had these ranks.
  std::shared_ptr<const SharedArenas> of(std::span<const int> members) const;

  /// The memory of a rank, zeroed, aligned to pages.
  std::shared_ptr<std::byte> memory(int rank) const;

  /// The offset of `bytes` in the memory of a rank, if they are all in it.
  std::optional<std::int64_t> find(int rank, const void* begin, std::size_t bytes) const;

 private:
  struct Arena {
    std::byte* begin;
    std::size_t bytes;
  };

  std::shared_ptr<std::byte> mapping_;
  std::vector<Arena> arenas_;  // by rank
};

}  // namespace meshwork
