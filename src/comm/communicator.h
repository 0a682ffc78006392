#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/reduction.h"

namespace meshwork {

/// A collective over fixed buffers, for Communicator::prepare. `count` is that of kAllReduce;
/// `counts` are the blocks of the others, of kAllToAll those that are sent.
struct CollectiveCall {
  enum class Kind { kAllReduce, kReduceScatter, kAllGather, kAllToAll };
  Kind kind = Kind::kAllReduce;
  const void* send = nullptr;
  void* recv = nullptr;
  DType dtype = DType::kFloat32;
  Reduction reduction = Reduction::kSum;
  std::int64_t count = 0;
  std::vector<std::int64_t> counts{};
  std::vector<std::int64_t> recv_counts{};  ///< of kAllToAll
};

/// A call that was prepared once and is run any number of times, while the caller does other work:
///
///     call->start();                  // the data to send are there
///     while (more()) { compute(); call->poll(); }
///     call->wait();                   // the result is there, the buffers are the caller's again
///
/// From start until it is complete nobody but the call touches its buffers. It moves on only
/// within the calls of its members: each does its share of the work in poll or wait. Any number of
/// prepared calls may be under way, started in any order, and other calls of the communicator
/// beside them. Who waits for one gives those `beside` it a hand meanwhile: others may wait for
/// them first. No function allocates.
class PreparedCall {
 public:
  PreparedCall() = default;
  PreparedCall(const PreparedCall&) = delete;
  PreparedCall& operator=(const PreparedCall&) = delete;
  /// Of a pending call: its buffers are safe from the others when it returns, who get an Error.
  virtual ~PreparedCall() = default;

  virtual void start() = 0;
  /// Does what can be done without waiting; true where the call is complete, or was not started.
  virtual bool poll() = 0;
  virtual void wait(std::span<PreparedCall* const> beside) = 0;
  void wait() { wait({}); }
};

/// A group of devices that exchange tensors. Every member makes the same calls in the same order.
///
/// Reductions add in one canonical order whatever the implementation: the binary tree over the
/// index of the device in the group, ((0+1)+(2+3))+((4+5)+(6+7)); a group that is no power of two
/// leaves out the missing leaves: (0+1)+2, ((0+1)+(2+3))+4. So the bits are the same in one process
/// and under mpirun.
///
/// Counts are in elements and may be zero. `send` and `recv` may be the same buffer only in
/// all_reduce and broadcast; in a prepared all-gather `send` may be the own block of `recv`. A lost
/// or failed member ends every pending and later call with an Error of ExitCode::kCommunication; no
/// call waits for ever.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// The communicator of `members` (ranks of this one, in the order of their new ranks), of which
  /// the caller is one. All members call it together, others do not take part.
  virtual std::unique_ptr<Communicator> group(std::span<const int> members) = 0;

  /// recv[i] = reduction over all members of send[i]; kFloat32, kInt32 or kInt64.
  virtual void all_reduce(const void* send, void* recv, std::int64_t count, DType dtype,
                          Reduction reduction) = 0;

  /// Member i receives the reduced block i; block i has counts[i] elements, blocks stand one after
  /// the other in `send`, which has sum(counts) elements.
  virtual void reduce_scatter(const void* send, void* recv, std::span<const std::int64_t> counts,
                              DType dtype, Reduction reduction) = 0;

  /// Member i gives counts[i] elements; everyone receives all blocks, in order.
  virtual void all_gather(const void* send, void* recv, std::span<const std::int64_t> counts,
                          DType dtype) = 0;

  /// Block j of `send` (send_counts[j] elements) goes to member j, block i of `recv`
  /// (recv_counts[i] elements) comes from member i.
  virtual void all_to_all(const void* send, std::span<const std::int64_t> send_counts, void* recv,
                          std::span<const std::int64_t> recv_counts, DType dtype) = 0;

  /// The call of one of the four functions above, with the same result to the bit, to be run later
  /// and again and again. All members prepare it together. Buffers outlive the prepared call.
  virtual std::unique_ptr<PreparedCall> prepare(const CollectiveCall& call) = 0;

  /// Zeroed memory, aligned to lines, of which the other members reach what prepared calls need:
  /// these do not copy then. For this communicator and the groups made of it from now on. All
  /// members call it together; sizes may differ. Null, for all alike, where any memory is as good.
  virtual std::shared_ptr<std::byte> allocate(std::int64_t bytes) = 0;

  /// `bytes` of `data` from member `root` to all.
  virtual void broadcast(void* data, std::size_t bytes, int root) = 0;

  virtual void barrier() = 0;

  /// Ends the job of all members: their calls throw (threads) or their processes stop (ranks).
  virtual void abort(int exit_code) noexcept = 0;
};

}  // namespace meshwork
