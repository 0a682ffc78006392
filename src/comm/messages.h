#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/wait.h"
#include "comm/blocks.h"
#include "comm/communicator.h"
#include "comm/mpi_check.h"
#include "machine/mpi_environment.h"

namespace meshwork {

/// The type of elements in messages.
MPI_Datatype mpi_type(DType dtype);

/// Messages of an earlier call may still need a hand, and the receiver may be waited for.
void progress_messages();

/// Waits for a call that goes on by messages: MPI wakes nobody, and moves messages on only while it
/// is called. It spins, and then leaves the core to others between two looks, by `rest`.
template <class Rest>
void poll_until_complete(PreparedCall& call, std::span<PreparedCall* const> beside,
                         const Rest& rest) {
  Spin spin(rank_spin_time());
  while (!call.poll()) {
    for (PreparedCall* other : beside) other->poll();
    if (!spin.again()) rest();
  }
}

/// Messages under way, of elements of one dtype, each of any size.
class Messages {
 public:
  /// `max_count`: elements, the most that one call of MPI can name.
  Messages(MPI_Comm comm, DType dtype, std::int64_t max_count)
      : comm_(comm), dtype_(dtype), type_(mpi_type(dtype)), max_count_(max_count) {}

  /// So many can be under way without memory being allocated.
  void reserve(std::size_t messages) { requests_.reserve(messages); }

  void receive(void* to, std::int64_t count, int from, int tag) {
    in_pieces(count, [&](std::int64_t begin, int elements, MPI_Request* request) {
      MW_MPI(MPI_Irecv(advance(to, begin, dtype_), elements, type_, from, tag, comm_, request));
    });
  }

  void send(const void* from, std::int64_t count, int to, int tag) {
    in_pieces(count, [&](std::int64_t begin, int elements, MPI_Request* request) {
      MW_MPI(MPI_Isend(advance(from, begin, dtype_), elements, type_, to, tag, comm_, request));
    });
  }

  /// Whether all have come and gone.
  bool are_done() {
    int done = 0;
    MW_MPI(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                       MPI_STATUSES_IGNORE));
    if (done != 0) requests_.clear();
    return done != 0;
  }

 private:
  template <class BeginMessage>
  void in_pieces(std::int64_t count, const BeginMessage& begin_message) {
    for (std::int64_t begin = 0; begin < count; begin += max_count_) {
      begin_message(begin, static_cast<int>(std::min(max_count_, count - begin)),
                    &requests_.emplace_back(MPI_REQUEST_NULL));
    }
  }

  MPI_Comm comm_;
  DType dtype_;
  MPI_Datatype type_;
  std::int64_t max_count_;
  std::vector<MPI_Request> requests_;
};

}  // namespace meshwork
