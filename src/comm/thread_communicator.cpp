// Collectives of threads: publish pointers, meet, work on the others' buffers, meet again.
#include "comm/thread_world.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "comm/blocks.h"
#include "comm/single.h"
#include "comm/tree_sum.h"

namespace meshwork {
namespace {

// A result of this size is still in the second-level cache when it is copied to the others.
constexpr std::size_t kReduceBlockBytes = 65536;

/// "all_reduce of 12 x float32, sum, root 0".
std::string describe(const Call& call) {
  constexpr std::array<std::string_view, 8> kNames{"group",      "all_reduce", "reduce_scatter",
                                                   "all_gather", "all_to_all", "broadcast",
                                                   "barrier",    "prepare"};
  return fmt::format("{} of {} x {}, {}, root {}", kNames[static_cast<std::size_t>(call.kind)],
                     call.count, to_string(call.dtype), to_string(call.reduction), call.root);
}

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<ThreadWorldState> world, std::shared_ptr<ThreadGroup> group,
                     int rank)
      : world_(std::move(world)),
        group_(std::move(group)),
        rank_(rank),
        size_(static_cast<int>(group_->devices.size())),
        inputs_(group_->devices.size()) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::unique_ptr<Communicator> group(std::span<const int> members) override;
  void all_reduce(const void* send, void* recv, std::int64_t count, DType dtype,
                  Reduction reduction) override;
  void reduce_scatter(const void* send, void* recv, std::span<const std::int64_t> counts,
                      DType dtype, Reduction reduction) override;
  void all_gather(const void* send, void* recv, std::span<const std::int64_t> counts,
                  DType dtype) override;
  void all_to_all(const void* send, std::span<const std::int64_t> send_counts, void* recv,
                  std::span<const std::int64_t> recv_counts, DType dtype) override;
  std::unique_ptr<PreparedCall> prepare(const CollectiveCall& call) override;
  std::shared_ptr<std::byte> allocate(std::int64_t /*bytes*/) override { return nullptr; }
  void broadcast(void* data, std::size_t bytes, int root) override;
  void barrier() override { meet({.kind = Call::Kind::kBarrier}); }
  void abort(int exit_code) noexcept override { world_->end(device(), exit_code); }

 private:
  int device() const { return group_->devices[static_cast<std::size_t>(rank_)]; }
  const Slot& slot(int member) const { return slots_[static_cast<std::size_t>(member)]; }
  void check_counts(std::span<const std::int64_t> counts) const;
  /// Whether all prepare the same, and expect what the others send.
  bool is_prepared_alike() const;

  /// Publishes the call with up to kInlineBytes of data and waits for all members; slot() then
  /// shows theirs until the next call.
  void meet(const Call& call, const void* data = nullptr, std::size_t bytes = 0);
  void check_same() const;

  /// Reduces elements [begin, end) of all sends and writes them to all recvs.
  void reduce_to_all(std::int64_t begin, std::int64_t end, DType dtype, Reduction reduction);

  /// Nobody reads a buffer of this call any more. Between meet and finish nothing may throw.
  void finish() { group_->barrier.meet_even_if_broken(); }

  std::shared_ptr<ThreadWorldState> world_;
  std::shared_ptr<ThreadGroup> group_;
  int rank_;
  int size_;
  std::size_t parity_ = 0;
  std::span<Slot> slots_;  // of the current call
  std::vector<const void*> inputs_;
};

void ThreadCommunicator::check_counts(std::span<const std::int64_t> counts) const {
  MW_CHECK(std::ssize(counts) == size_, "{} counts, {} members", counts.size(), size_);
  for (const std::int64_t count : counts) MW_CHECK(count >= 0, "a block of {} elements", count);
}

void ThreadCommunicator::meet(const Call& call, const void* data, std::size_t bytes) {
  const auto size = static_cast<std::size_t>(size_);
  parity_ = 1 - parity_;
  slots_ = std::span(group_->slots).subspan(parity_ * size, size);
  Slot& mine = slots_[static_cast<std::size_t>(rank_)];
  mine.call = call;
  if (bytes > 0) std::memcpy(mine.data.data(), data, bytes);
  if (!group_->barrier.meet()) world_->throw_lost(group_->devices);
  check_same();
}

// All members compare all slots, so either all throw, before any buffer is touched, or none.
void ThreadCommunicator::check_same() const {
  for (int member = 0; member < size_; ++member) {
    const Call& other = slot(member).call;
    const Call& first = slot(0).call;
    const bool same = other.kind == first.kind && other.dtype == first.dtype &&
                      other.reduction == first.reduction && other.root == first.root &&
                      (other.kind == Call::Kind::kExchange || other.count == first.count);
    MW_CHECK(same, "device {} calls {}, device {} calls {}", group_->devices[0], describe(first),
             group_->devices[static_cast<std::size_t>(member)], describe(other));
  }
}

std::unique_ptr<Communicator> ThreadCommunicator::group(std::span<const int> members) {
  std::vector<int> devices;
  int rank = -1;
  for (const int member : members) {
    MW_CHECK(member >= 0 && member < size_, "member {} of {}", member, size_);
    if (member == rank_) rank = static_cast<int>(devices.size());
    const int device = group_->devices[static_cast<std::size_t>(member)];
    MW_CHECK(std::count(devices.begin(), devices.end(), device) == 0, "member {} twice", member);
    devices.push_back(device);
  }
  MW_CHECK(rank >= 0, "member {} makes a group without itself", rank_);
  if (devices.size() == 1) {
    return single_communicator(
        [world = world_, device = device()](int exit_code) { world->end(device, exit_code); });
  }
  auto group =
      std::make_unique<ThreadCommunicator>(world_, world_->join(group_->id, devices), rank);
  // Until all have joined, the next group of the same members would be taken for this one.
  group->meet({.kind = Call::Kind::kGroup});
  return group;
}

void ThreadCommunicator::all_reduce(const void* send, void* recv, std::int64_t count, DType dtype,
                                    Reduction reduction) {
  MW_CHECK(count >= 0 && dtype != DType::kUInt8, "{} {}", count, to_string(dtype));
  const Call call{.kind = Call::Kind::kReduce,
                  .dtype = dtype,
                  .reduction = reduction,
                  .count = count,
                  .send = send,
                  .recv = recv};
  if (bytes_of(count, dtype) <= kInlineBytes) {
    meet(call, send, bytes_of(count, dtype));
    for (int j = 0; j < size_; ++j) inputs_[static_cast<std::size_t>(j)] = slot(j).data.data();
    return tree_reduce(inputs_, recv, count, dtype, reduction);
  }
  meet(call);
  reduce_to_all(part_begin(count, rank_, size_, dtype), part_begin(count, rank_ + 1, size_, dtype),
                dtype, reduction);
  finish();
}

// In place too: part r of any buffer is read and written by member r alone.
void ThreadCommunicator::reduce_to_all(std::int64_t begin, std::int64_t end, DType dtype,
                                       Reduction reduction) {
  const auto block = static_cast<std::int64_t>(kReduceBlockBytes / size_of(dtype));
  for (; begin < end; begin += block) {
    const std::int64_t count = std::min(block, end - begin);
    for (int j = 0; j < size_; ++j) {
      inputs_[static_cast<std::size_t>(j)] = advance(slot(j).call.send, begin, dtype);
    }
    void* result = advance(slot(rank_).call.recv, begin, dtype);
    tree_reduce(inputs_, result, count, dtype, reduction);
    for (int j = 0; j < size_; ++j) {
      if (j == rank_) continue;
      std::memcpy(advance(slot(j).call.recv, begin, dtype), result, bytes_of(count, dtype));
    }
  }
}

void ThreadCommunicator::reduce_scatter(const void* send, void* recv,
                                        std::span<const std::int64_t> counts, DType dtype,
                                        Reduction reduction) {
  check_counts(counts);
  MW_CHECK(dtype != DType::kUInt8, "no reduction of {}", to_string(dtype));
  const std::int64_t offset = offset_of(counts, rank_);
  meet({.kind = Call::Kind::kScatter,
        .dtype = dtype,
        .reduction = reduction,
        .count = total(counts),
        .send = send});
  for (int j = 0; j < size_; ++j) {
    inputs_[static_cast<std::size_t>(j)] = advance(slot(j).call.send, offset, dtype);
  }
  tree_reduce(inputs_, recv, counts[static_cast<std::size_t>(rank_)], dtype, reduction);
  finish();
}

void ThreadCommunicator::all_gather(const void* send, void* recv,
                                    std::span<const std::int64_t> counts, DType dtype) {
  check_counts(counts);
  const std::size_t largest = bytes_of(*std::max_element(counts.begin(), counts.end()), dtype);
  const bool in_slot = largest <= kInlineBytes;
  const std::size_t my_bytes = bytes_of(counts[static_cast<std::size_t>(rank_)], dtype);
  meet({.kind = Call::Kind::kGather, .dtype = dtype, .count = total(counts), .send = send}, send,
       in_slot ? my_bytes : 0);
  for (int step = 0; step < size_; ++step) {
    const int from = (rank_ + step) % size_;  // not all from the same at once
    const std::size_t bytes = bytes_of(counts[static_cast<std::size_t>(from)], dtype);
    const void* block = in_slot ? slot(from).data.data() : slot(from).call.send;
    if (bytes > 0) std::memcpy(advance(recv, offset_of(counts, from), dtype), block, bytes);
  }
  if (!in_slot) finish();
}

void ThreadCommunicator::all_to_all(const void* send, std::span<const std::int64_t> send_counts,
                                    void* recv, std::span<const std::int64_t> recv_counts,
                                    DType dtype) {
  check_counts(send_counts);
  check_counts(recv_counts);
  meet({.kind = Call::Kind::kExchange, .dtype = dtype, .send = send, .counts = send_counts});
  int wrong = -1;
  for (int step = 0; step < size_; ++step) {
    const int from = (rank_ + step) % size_;
    const Call& other = slot(from).call;
    const std::int64_t count = recv_counts[static_cast<std::size_t>(from)];
    if (other.counts[static_cast<std::size_t>(rank_)] != count) {
      wrong = from;
    } else if (count > 0) {
      std::memcpy(advance(recv, offset_of(recv_counts, from), dtype),
                  advance(other.send, offset_of(other.counts, rank_), dtype),
                  bytes_of(count, dtype));
    }
  }
  finish();
  MW_CHECK(wrong < 0, "member {} sends member {} not what it expects", wrong, rank_);
}

bool ThreadCommunicator::is_prepared_alike() const {
  const CollectiveCall& first = *slot(0).call.prepared;
  for (int member = 0; member < size_; ++member) {
    const CollectiveCall& other = *slot(member).call.prepared;
    if (other.kind != first.kind || other.dtype != first.dtype ||
        other.reduction != first.reduction || other.count != first.count) {
      return false;
    }
    if (other.kind == CollectiveCall::Kind::kAllToAll) {
      for (int from = 0; from < size_; ++from) {
        const CollectiveCall& sender = *slot(from).call.prepared;
        const auto me = static_cast<std::size_t>(member);
        if (sender.counts.size() != other.recv_counts.size() ||
            sender.counts[me] != other.recv_counts[static_cast<std::size_t>(from)]) {
          return false;
        }
      }
    } else if (other.counts != first.counts) {
      return false;
    }
  }
  return true;
}

std::unique_ptr<PreparedCall> ThreadCommunicator::prepare(const CollectiveCall& call) {
  check_call(call, size_);
  Call mine{.kind = Call::Kind::kPrepare, .prepared = &call};
  if (rank_ == 0) mine.board = world_->add_board(*group_, board_bytes(call, size_));
  meet(mine);
  CallBuffers buffers;
  for (int member = 0; member < size_; ++member) {
    const CollectiveCall& other = *slot(member).call.prepared;
    buffers.sends.push_back(static_cast<const std::byte*>(other.send));
    buffers.recvs.push_back(static_cast<std::byte*>(other.recv));
    buffers.send_counts.push_back(other.counts);
  }
  const std::shared_ptr<std::byte> board = slot(0).call.board;
  const bool alike = is_prepared_alike();
  finish();
  MW_CHECK(alike, "the devices prepare calls that do not fit together");
  return direct_call(
      call, buffers, board.get(),
      {.rank = rank_,
       .size = size_,
       .spins = world_->spins,
       .fail_broken = [world = world_, group = group_] { world->throw_lost(group->devices); },
       .memory = board});
}

void ThreadCommunicator::broadcast(void* data, std::size_t bytes, int root) {
  MW_CHECK(root >= 0 && root < size_, "root {} of {}", root, size_);
  const bool in_slot = bytes <= kInlineBytes;
  meet({.kind = Call::Kind::kBroadcast,
        .root = root,
        .count = static_cast<std::int64_t>(bytes),
        .send = data},
       data, in_slot && rank_ == root ? bytes : 0);
  if (rank_ != root && bytes > 0) {
    std::memcpy(data, in_slot ? slot(root).data.data() : slot(root).call.send, bytes);
  }
  if (!in_slot) finish();
}

}  // namespace

std::unique_ptr<Communicator> thread_communicator(std::shared_ptr<ThreadWorldState> world,
                                                  std::shared_ptr<ThreadGroup> group, int rank) {
  return std::make_unique<ThreadCommunicator>(std::move(world), std::move(group), rank);
}

}  // namespace meshwork
