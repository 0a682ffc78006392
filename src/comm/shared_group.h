#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/reduction.h"
#include "comm/shared_barrier.h"

namespace meshwork {

/// Messages of an earlier call by MPI may still need a hand, and the receiver may be waited for.
void progress_messages();

/// Memory that the ranks of one node share, and the collectives that are faster through it than by
/// messages: each rank copies what others need into its stage, and reduces its part straight from
/// the stages of the others. The contract is communicator.h's.
class SharedGroup {
 public:
  /// All ranks of `comm` call it together. Nothing, for all alike, where they do not share a node
  /// or the system does not let them share memory. `stage_bytes` is what one rank hands out at a
  /// time.
  static std::unique_ptr<SharedGroup> create(MPI_Comm comm, std::size_t stage_bytes);
  ~SharedGroup();
  SharedGroup(const SharedGroup&) = delete;
  SharedGroup& operator=(const SharedGroup&) = delete;

  void all_reduce(const void* send, void* recv, std::int64_t count, DType dtype,
                  Reduction reduction);
  void reduce_scatter(const void* send, void* recv, std::span<const std::int64_t> counts,
                      DType dtype, Reduction reduction);
  void all_gather(const void* send, void* recv, std::span<const std::int64_t> counts, DType dtype);
  void barrier();

  /// Rounds to wait actively for the others before sleeping.
  int spins() const { return spins_; }

 private:
  SharedGroup(int rank, int size, std::size_t stage_bytes);

  static std::size_t bytes_needed(int size, std::size_t stage_bytes);
  std::byte* slot(int member) const;
  std::byte* stage(int member) const;
  std::byte* result() const { return stage(size_); }

  void reduce_small(const void* send, void* recv, std::int64_t count, DType dtype,
                    Reduction reduction);
  void gather_small(const void* send, void* recv, std::span<const std::int64_t> counts,
                    DType dtype);
  void reduce_chunk(const void* send, void* recv, std::int64_t count, DType dtype,
                    Reduction reduction);

  int rank_;
  int size_;
  int spins_;
  std::size_t stage_bytes_;
  std::size_t mapped_bytes_ = 0;
  std::byte* memory_ = nullptr;
  std::size_t parity_ = 0;
  std::vector<const void*> inputs_;
};

}  // namespace meshwork
