#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/reduction.h"
#include "comm/host_group.h"
#include "device/stream.h"

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
  /// What the call is for, alike in all members: so calls of one size that only some of them have
  /// swapped are found out.
  std::string purpose{};
};

/// A call that was prepared once and is run any number of times, while the caller does other work:
///
///     call->start();                  // what was enqueued before gives the data to send
///     while (more()) { compute(); call->poll(); }
///     call->wait();                   // what is enqueued behind it finds the result
///
/// From start until it is complete nobody but the call touches its buffers. On an immediate stream
/// it moves on only within the calls of its members: each does its share of the work in poll or
/// wait, and wait returns when the result is there. Any number of prepared calls may be under way,
/// started in any order, and other calls of the communicator beside them. Who waits for one gives
/// those `beside` it a hand meanwhile: others may wait for them first. No function allocates.
///
/// On other streams start enqueues all of it, for which it may wait for the hosts of other members,
/// and poll and wait do nothing. There members start their calls in one order.
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
/// A lost or failed member ends every pending and later call with an Error of
/// ExitCode::kCommunication; no call waits for ever.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// The communicator of `members` (ranks of this one, in the order of their new ranks), of which
  /// the caller is one. All members call it together, others do not take part.
  virtual std::unique_ptr<Communicator> group(std::span<const int> members) = 0;

  /// A collective to be run again and again, on `stream`, which outlives it as the buffers do. All
  /// members prepare it together: where they prepare different calls, that is a broken invariant on
  /// all alike. Of
  ///   kAllReduce      recv[i] = reduction over all members of send[i]; `send` may be `recv`
  ///   kReduceScatter  member i receives the reduced block i; the blocks stand one after the other
  ///                   in `send`
  ///   kAllGather      member i gives counts[i] elements, everyone receives all blocks, in order;
  ///                   `send` may be the own block of `recv`, which others may then read meanwhile
  ///   kAllToAll       block j of `send` goes to member j, block i of `recv` comes from member i
  /// Counts are in elements and may be zero. Reductions are of kFloat32, kInt32 or kInt64.
  virtual std::unique_ptr<PreparedCall> prepare(const CollectiveCall& call, Stream& stream) = 0;

  /// Throws the Error that ends calls where a member is lost, as far as it is known here: of ranks
  /// the launcher ends the job. Does not wait; for any thread.
  virtual void check_members() const {}

  /// Zeroed memory, aligned to lines, of which the other members reach what prepared calls need:
  /// these do not copy then. For this communicator and the groups made of it from now on. All
  /// members call it collectively; sizes may differ. Null, for all alike, where any memory is as
  /// good.
  virtual std::shared_ptr<std::byte> allocate(std::int64_t bytes) = 0;
};

/// What one device has of the others: their hosts and, for tensors, themselves.
struct World {
  std::shared_ptr<HostGroup> hosts;
  std::shared_ptr<Communicator> devices;
};

}  // namespace meshwork
