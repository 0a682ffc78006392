#include "comm/direct_call.h"

#include <sched.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "base/check.h"
#include "base/wait.h"
#include "comm/blocks.h"
#include "comm/call.h"
#include "device/tree_sum.h"

namespace meshwork {
namespace {

using Kind = CollectiveCall::Kind;

// A result of this size is still in the second-level cache when it is copied to the others.
constexpr std::size_t kReduceBlockBytes = 65536;

class DirectCall final : public PreparedCall {
 public:
  DirectCall(const CollectiveCall& call, const CallBuffers& buffers, std::byte* memory,
             CallPeers peers, Stream& stream)
      : stream_(stream),
        board_(*reinterpret_cast<CallBoard*>(memory)),
        peers_(std::move(peers)),
        dtype_(call.dtype),
        reduction_(call.reduction),
        send_(static_cast<const std::byte*>(call.send)),
        slot_bytes_(slot_bytes(call)),
        own_count_(sent_by(call, peers_.rank)),
        slots_(memory + sizeof(CallBoard)) {
    for (auto& inputs : inputs_) inputs.resize(buffers.sends.size());
    block_inputs_.resize(buffers.sends.size());
    bind(call, buffers);
  }

  ~DirectCall() override {
    if (state_ == State::kIdle || !peers_.own_buffers) return;
    board_.break_up();
    Spin spin(peers_.spin);
    while (board_.working.load() != 0) {
      if (!spin.again()) sched_yield();
    }
  }

  void start() override {
    MW_CHECK(state_ == State::kIdle, "started before it was complete");
    if (board_.broken.load() != 0) peers_.fail_broken();
    parity_ = 1 - parity_;
    target_ += static_cast<std::uint32_t>(peers_.size);
    if (slot_bytes_ > 0) {
      copy_elements(stream_, slot(parity_, peers_.rank), send_, own_count_, dtype_);
    }
    state_ = State::kStarted;
    board_.started.arrive(target_);
  }

  bool poll() override {
    // Asked first: a member that has done its part may go, and all it waited for has come by then.
    const bool broken = board_.broken.load() != 0;
    if (state_ == State::kStarted && board_.started.has_reached(target_)) work();
    if (state_ == State::kWorked && board_.done.has_reached(target_)) state_ = State::kIdle;
    if (state_ != State::kIdle && broken) peers_.fail_broken();
    return state_ == State::kIdle;
  }

  void wait(std::span<PreparedCall* const> beside) override {
    while (!poll()) await(state_ == State::kStarted ? board_.started : board_.done, beside);
  }

 private:
  enum class State { kIdle, kStarted, kWorked };

  struct Piece {
    int member;
    std::byte* to;
    std::int64_t count;
  };

  std::byte* slot(std::size_t parity, int member) const {
    const auto index =
        parity * static_cast<std::size_t>(peers_.size) + static_cast<std::size_t>(member);
    return slots_ + index * slot_bytes_;
  }

  void bind(const CollectiveCall& call, const CallBuffers& buffers) {
    auto* recv = static_cast<std::byte*>(call.recv);
    switch (call.kind) {
      case Kind::kAllReduce:
        return bind_all_reduce(call, buffers);
      case Kind::kReduceScatter:
        outputs_ = {recv};
        count_ = call.counts[static_cast<std::size_t>(peers_.rank)];
        return bind_inputs(buffers, [&](int) { return offset_of(call.counts, peers_.rank); });
      case Kind::kAllGather:
        bind_inputs(buffers, [](int) { return std::int64_t{0}; });
        return bind_copies(call.counts, recv);
      case Kind::kAllToAll:
        bind_inputs(buffers, [&](int member) {
          return offset_of(buffers.send_counts[static_cast<std::size_t>(member)], peers_.rank);
        });
        return bind_copies(call.recv_counts, recv);
    }
  }

  /// `offset(j)`: element of what member j sends at which the part for this member begins.
  template <class Offset>
  void bind_inputs(const CallBuffers& buffers, const Offset& offset) {
    for (int j = 0; j < peers_.size; ++j) {
      const auto i = static_cast<std::size_t>(j);
      for (std::size_t parity = 0; parity < 2; ++parity) {
        const std::byte* all = slot_bytes_ > 0 ? slot(parity, j) : buffers.sends[i];
        inputs_[parity][i] = advance(all, offset(j), dtype_);
      }
    }
  }

  void bind_all_reduce(const CollectiveCall& call, const CallBuffers& buffers) {
    if (slot_bytes_ > 0) {
      outputs_ = {static_cast<std::byte*>(call.recv)};
      count_ = call.count;
      return bind_inputs(buffers, [](int) { return std::int64_t{0}; });
    }
    // In place too: part r of any buffer is read and written by member r alone.
    const std::int64_t begin = part_begin(call.count, peers_.rank, peers_.size, dtype_);
    count_ = part_begin(call.count, peers_.rank + 1, peers_.size, dtype_) - begin;
    outputs_ = {advance(buffers.recvs[static_cast<std::size_t>(peers_.rank)], begin, dtype_)};
    for (int j = 0; j < peers_.size; ++j) {
      if (j == peers_.rank) continue;
      outputs_.push_back(advance(buffers.recvs[static_cast<std::size_t>(j)], begin, dtype_));
    }
    bind_inputs(buffers, [&](int) { return begin; });
  }

  void bind_copies(std::span<const std::int64_t> counts, std::byte* recv) {
    for (int step = 0; step < peers_.size; ++step) {
      const int from = (peers_.rank + step) % peers_.size;  // not all from the same at once
      const std::int64_t count = counts[static_cast<std::size_t>(from)];
      std::byte* const to = advance(recv, offset_of(counts, from), dtype_);
      const bool is_there = from == peers_.rank && to == send_;
      if (count > 0 && !is_there) pieces_.push_back({from, to, count});
    }
  }

  void await(WaitWord& counter, std::span<PreparedCall* const> beside) {
    const auto is_over = [&](std::uint32_t count) {
      return WaitWord::reaches(count, target_) || board_.broken.load() != 0;
    };
    Spin spin(peers_.spin);
    while (!is_over(counter.value.load(std::memory_order_acquire))) {
      for (PreparedCall* call : beside) call->poll();
      if (spin.again()) continue;
      counter.sleep(is_over, beside.empty() ? kSleepTime : kPollTime);
      peers_.progress();
    }
  }

  // What is in slots can be read even when its owner is gone.
  void work() {
    if (slot_bytes_ > 0) {
      compute();
      state_ = State::kIdle;  // a slot is written again after the next round, when all have read
      return;
    }
    // Either the board is seen to be broken here, or who broke it sees this member at work.
    board_.working.fetch_add(1);
    const bool broken = board_.broken.load() != 0;
    if (!broken) compute();
    board_.working.fetch_sub(1);
    if (broken) peers_.fail_broken();
    state_ = State::kWorked;
    board_.done.arrive(target_);
  }

  void compute() {
    if (outputs_.empty()) {
      copy();
    } else {
      reduce();
    }
  }

  void copy() {
    for (const Piece& piece : pieces_) {
      const std::byte* from = inputs_[parity_][static_cast<std::size_t>(piece.member)];
      copy_elements(stream_, piece.to, from, piece.count, dtype_);
    }
  }

  void reduce() {
    const auto block = static_cast<std::int64_t>(kReduceBlockBytes / size_of(dtype_));
    for (std::int64_t begin = 0; begin < count_; begin += block) {
      const std::int64_t count = std::min(block, count_ - begin);
      for (std::size_t j = 0; j < block_inputs_.size(); ++j) {
        block_inputs_[j] = advance(inputs_[parity_][j], begin, dtype_);
      }
      std::byte* result = advance(outputs_[0], begin, dtype_);
      tree_reduce(block_inputs_, result, count, dtype_, reduction_);
      for (std::size_t j = 1; j < outputs_.size(); ++j) {
        copy_elements(stream_, advance(outputs_[j], begin, dtype_), result, count, dtype_);
      }
    }
  }

  Stream& stream_;
  CallBoard& board_;
  CallPeers peers_;
  DType dtype_;
  Reduction reduction_;
  const std::byte* send_;
  std::size_t slot_bytes_;
  std::int64_t own_count_;
  std::byte* slots_;
  std::array<std::vector<const std::byte*>, 2> inputs_;  // of this member, by parity of the round
  std::vector<std::byte*> outputs_;                      // of a reduction; its own first
  std::int64_t count_ = 0;
  std::vector<Piece> pieces_;
  std::vector<const void*> block_inputs_;
  State state_ = State::kIdle;
  std::uint32_t target_ = 0;
  std::size_t parity_ = 0;
};

}  // namespace

void CallBoard::break_up() noexcept {
  broken.store(1);
  started.wake_all();
  done.wake_all();
}

std::size_t board_bytes(const CollectiveCall& call, int size) {
  return sizeof(CallBoard) + 2 * static_cast<std::size_t>(size) * slot_bytes(call);
}

std::unique_ptr<PreparedCall> direct_call(const CollectiveCall& call, const CallBuffers& buffers,
                                          std::byte* memory, CallPeers peers, Stream& stream) {
  return std::make_unique<DirectCall>(call, buffers, memory, std::move(peers), stream);
}

}  // namespace meshwork
