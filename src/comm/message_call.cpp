// A reduction goes chunk by chunk, in two rounds: each member gathers its part of the chunk and
// reduces it in the canonical order, then all exchange the parts. What one member alone has goes to
// all along a binomial tree. All else is one round.
#include "comm/message_call.h"

#include <algorithm>

#include "base/check.h"
#include "comm/blocks.h"
#include "comm/chunks.h"
#include "comm/messages.h"
#include "device/tree_sum.h"

namespace meshwork {
namespace {

using Kind = CollectiveCall::Kind;
using Counts = std::vector<std::int64_t>;

Counts begins_of(const Counts& counts) {
  Counts begins;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    begins.push_back(offset_of(counts, static_cast<int>(i)));
  }
  return begins;
}

class MessageCall final : public PreparedCall {
 public:
  MessageCall(const MpiRanks& ranks, const MpiLimits& limits, int tag, const CollectiveCall& call,
              Stream& stream)
      : tag_(tag),
        call_(call),
        stream_(stream),
        rank_(ranks.rank),
        size_(ranks.size),
        messages_(ranks.comm, call.dtype, limits.max_count),
        chunks_(call_, size_, limits.chunk_bytes) {
    const auto size = static_cast<std::size_t>(size_);
    out_ = in_ = {Counts(size), Counts(size)};
    inputs_.resize(size);
    messages_.reserve(4 * size);
    if (call_.kind != Kind::kAllReduce) block_begins_ = begins_of(call_.counts);
    if (call_.kind == Kind::kAllToAll) recv_begins_ = begins_of(call_.recv_counts);
    if (reduces()) scratch_.resize(bytes_of(chunks_.most(), call_.dtype) * size);
  }

  // Messages under way would be written to the buffers: a job that loses a rank ends as a whole.
  ~MessageCall() override = default;

  void start() override {
    MW_CHECK(state_ == State::kIdle, "started before it was complete");
    switch (call_.kind) {
      case Kind::kAllReduce:
      case Kind::kReduceScatter:
        chunks_.begin();
        return start_chunk();
      case Kind::kAllGather:
        return start_gather();
      case Kind::kAllToAll:
        return start_exchange();
    }
  }

  bool poll() override {
    while (state_ != State::kIdle) {
      if (!messages_.are_done()) return false;
      advance_state();
    }
    return true;
  }

  void wait(std::span<PreparedCall* const> beside) override { poll_until_complete(*this, beside); }

 private:
  enum class State { kIdle, kParts, kResults, kFromParent, kMoves };

  /// Block j of counts[j] elements begins at element begins[j].
  struct Blocks {
    Counts begins;
    Counts counts;
  };

  bool reduces() const {
    return call_.kind == Kind::kAllReduce || call_.kind == Kind::kReduceScatter;
  }

  void start_chunk() {
    out_.begins = chunks_.begins();
    out_.counts = chunks_.counts();
    const auto me = static_cast<std::size_t>(rank_);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      in_.counts[i] = out_.counts[me];
      in_.begins[i] = static_cast<std::int64_t>(i) * in_.counts[i];
      inputs_[i] = advance(scratch_.data(), in_.begins[i], call_.dtype);
    }
    inputs_[me] = advance(call_.send, out_.begins[me], call_.dtype);
    exchange(scratch_.data(), call_.send, tag_);
    state_ = State::kParts;
  }

  /// The parts of this chunk are here: reduces them and hands the result out.
  void finish_parts() {
    const auto me = static_cast<std::size_t>(rank_);
    const std::int64_t count = out_.counts[me];
    std::byte* const result = advance(call_.recv, chunks_.received(rank_), call_.dtype);
    tree_reduce(inputs_, result, count, call_.dtype, call_.reduction);
    if (call_.kind == Kind::kReduceScatter) return finish_chunk();
    in_ = out_;
    const std::int64_t mine = out_.begins[me];
    std::fill(out_.begins.begin(), out_.begins.end(), mine);
    std::fill(out_.counts.begin(), out_.counts.end(), count);
    exchange(call_.recv, call_.recv, tag_ + 1);
    state_ = State::kResults;
  }

  void finish_chunk() {
    if (chunks_.next()) return start_chunk();
    state_ = State::kIdle;
  }

  /// Members count from the giver on. All but it receive of the one without their lowest bit.
  void start_broadcast(int giver) {
    giver_ = giver;
    const int place = (rank_ - giver_ + size_) % size_;
    const std::int64_t count = call_.counts[static_cast<std::size_t>(giver_)];
    std::fill(in_.counts.begin(), in_.counts.end(), 0);
    std::fill(out_.counts.begin(), out_.counts.end(), 0);
    if (place == 0) {
      copy_elements(stream_, call_.recv, call_.send, count, call_.dtype);
      return pass_on();
    }
    const auto parent = static_cast<std::size_t>(((place & (place - 1)) + giver_) % size_);
    in_.begins[parent] = 0;
    in_.counts[parent] = count;
    exchange(call_.recv, call_.recv, tag_);
    state_ = State::kFromParent;
  }

  /// To those with one bit more, below the lowest.
  void pass_on() {
    const int place = (rank_ - giver_ + size_) % size_;
    std::fill(in_.counts.begin(), in_.counts.end(), 0);
    for (int bit = 1; (place & bit) == 0 && place + bit < size_; bit *= 2) {
      const auto child = static_cast<std::size_t>((place + bit + giver_) % size_);
      out_.begins[child] = 0;
      out_.counts[child] = call_.counts[static_cast<std::size_t>(giver_)];
    }
    exchange(call_.recv, call_.recv, tag_);
    state_ = State::kMoves;
  }

  void start_gather() {
    if (const int giver = only_giver(call_.counts); giver >= 0) return start_broadcast(giver);
    const auto me = static_cast<std::size_t>(rank_);
    const std::int64_t mine = call_.counts[me];
    in_ = {block_begins_, call_.counts};
    std::fill(out_.begins.begin(), out_.begins.end(), 0);
    std::fill(out_.counts.begin(), out_.counts.end(), mine);
    exchange(call_.recv, call_.send, tag_);
    std::byte* own = advance(call_.recv, in_.begins[me], call_.dtype);
    copy_elements(stream_, own, call_.send, mine, call_.dtype);
    state_ = State::kMoves;
  }

  void start_exchange() {
    const auto me = static_cast<std::size_t>(rank_);
    in_ = {recv_begins_, call_.recv_counts};
    out_ = {block_begins_, call_.counts};
    MW_CHECK(out_.counts[me] == in_.counts[me]);
    exchange(call_.recv, call_.send, tag_);
    copy_elements(stream_, advance(call_.recv, in_.begins[me], call_.dtype),
                  advance(call_.send, out_.begins[me], call_.dtype), in_.counts[me], call_.dtype);
    state_ = State::kMoves;
  }

  void advance_state() {
    switch (state_) {
      case State::kParts:
        return finish_parts();
      case State::kResults:
        return finish_chunk();
      case State::kFromParent:
        return pass_on();
      case State::kIdle:
      case State::kMoves:
        state_ = State::kIdle;
    }
  }

  /// Starts every block of in_ and out_ from and to every other member.
  void exchange(void* recv, const void* send, int tag) {
    for (int step = 1; step < size_; ++step) {
      const int from = (rank_ - step + size_) % size_;
      const auto i = static_cast<std::size_t>(from);
      messages_.receive(advance(recv, in_.begins[i], call_.dtype), in_.counts[i], from, tag);
    }
    for (int step = 1; step < size_; ++step) {
      const int to = (rank_ + step) % size_;
      const auto i = static_cast<std::size_t>(to);
      messages_.send(advance(send, out_.begins[i], call_.dtype), out_.counts[i], to, tag);
    }
  }

  int tag_;
  CollectiveCall call_;
  Stream& stream_;
  int rank_;
  int size_;
  Messages messages_;
  Chunks chunks_;  // of a reduction
  int giver_ = 0;  // of a broadcast
  Counts block_begins_;
  Counts recv_begins_;
  Blocks out_;
  Blocks in_;
  std::vector<std::byte> scratch_;
  std::vector<const void*> inputs_;
  State state_ = State::kIdle;
};

}  // namespace

std::unique_ptr<PreparedCall> message_call(const MpiRanks& ranks, const MpiLimits& limits, int tag,
                                           const CollectiveCall& call, Stream& stream) {
  return std::make_unique<MessageCall>(ranks, limits, tag, call, stream);
}

}  // namespace meshwork
