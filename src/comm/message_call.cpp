// A reduction goes chunk by chunk, in two rounds: each member gathers its part of the chunk and
// reduces it in the canonical order, then all exchange the parts. What one member alone has goes to
// all along a binomial tree. All else is one round.
#include "comm/message_call.h"

#include <sched.h>

#include <algorithm>

#include "base/check.h"
#include "base/wait.h"
#include "comm/blocks.h"
#include "comm/mpi_check.h"
#include "device/tree_sum.h"
#include "machine/mpi_environment.h"

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
  MessageCall(MPI_Comm comm, const MpiLimits& limits, int tag, const CollectiveCall& call,
              Stream& stream)
      : comm_(comm),
        limits_(limits),
        tag_(tag),
        call_(call),
        stream_(stream),
        type_(mpi_type(call.dtype)) {
    MW_MPI(MPI_Comm_rank(comm_, &rank_));
    MW_MPI(MPI_Comm_size(comm_, &size_));
    const auto size = static_cast<std::size_t>(size_);
    out_ = in_ = {Counts(size), Counts(size)};
    inputs_.resize(size);
    requests_.reserve(4 * size);
    if (call_.kind != Kind::kAllReduce) block_begins_ = begins_of(call_.counts);
    if (call_.kind == Kind::kAllToAll) recv_begins_ = begins_of(call_.recv_counts);
    if (reduces()) scratch_.resize(bytes_of(share() + lines(), call_.dtype) * size);
  }

  // Messages under way would be written to the buffers: a job that loses a rank ends as a whole.
  ~MessageCall() override = default;

  void start() override {
    MW_CHECK(state_ == State::kIdle, "started before it was complete");
    begin_ = 0;
    switch (call_.kind) {
      case Kind::kAllReduce:
      case Kind::kReduceScatter:
        return start_chunk();
      case Kind::kAllGather:
        return start_gather();
      case Kind::kAllToAll:
        return start_exchange();
    }
  }

  bool poll() override {
    while (state_ != State::kIdle) {
      int done = 0;
      MW_MPI(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                         MPI_STATUSES_IGNORE));
      if (done == 0) return false;
      advance_state();
    }
    return true;
  }

  void wait(std::span<PreparedCall* const> beside) override {
    Spin spin(rank_spin_time());
    while (!poll()) {
      for (PreparedCall* call : beside) call->poll();
      // MPI wakes nobody, and moves messages on only while it is called.
      if (!spin.again()) sched_yield();
    }
  }

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
  std::int64_t lines() const { return static_cast<std::int64_t>(64 / size_of(call_.dtype)); }
  /// The most elements of a chunk that one member reduces.
  std::int64_t share() const {
    const auto chunk = limits_.chunk_bytes / size_of(call_.dtype);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(chunk) / size_);
  }
  /// Elements of the largest thing that is reduced chunk by chunk.
  std::int64_t whole() const {
    if (call_.kind == Kind::kAllReduce) return call_.count;
    return *std::max_element(call_.counts.begin(), call_.counts.end());
  }
  std::int64_t chunk() const { return call_.kind == Kind::kAllReduce ? share() * size_ : share(); }

  void start_chunk() {
    const std::int64_t end = std::min(begin_ + chunk(), whole());
    for (int j = 0; j < size_; ++j) {
      const auto i = static_cast<std::size_t>(j);
      if (call_.kind == Kind::kAllReduce) {
        const std::int64_t count = end - begin_;
        out_.begins[i] = begin_ + part_begin(count, j, size_, call_.dtype);
        out_.counts[i] = begin_ + part_begin(count, j + 1, size_, call_.dtype) - out_.begins[i];
      } else {
        const std::int64_t first = std::min(begin_, call_.counts[i]);
        out_.begins[i] = block_begins_[i] + first;
        out_.counts[i] = std::min(end, call_.counts[i]) - first;
      }
    }
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
    if (call_.kind == Kind::kReduceScatter) {
      const std::int64_t done = std::min(begin_, call_.counts[me]);
      tree_reduce(inputs_, advance(call_.recv, done, call_.dtype), count, call_.dtype,
                  call_.reduction);
      return finish_chunk();
    }
    std::byte* result = advance(call_.recv, out_.begins[me], call_.dtype);
    tree_reduce(inputs_, result, count, call_.dtype, call_.reduction);
    in_ = out_;
    const std::int64_t mine = out_.begins[me];
    std::fill(out_.begins.begin(), out_.begins.end(), mine);
    std::fill(out_.counts.begin(), out_.counts.end(), count);
    exchange(call_.recv, call_.recv, tag_ + 1);
    state_ = State::kResults;
  }

  void finish_chunk() {
    begin_ += chunk();
    if (begin_ < whole()) return start_chunk();
    state_ = State::kIdle;
  }

  /// The one member that gives anything to gather; -1: several do, or none.
  int only_giver() const {
    const auto gives = [](std::int64_t count) { return count > 0; };
    const Counts& counts = call_.counts;
    if (std::count_if(counts.begin(), counts.end(), gives) != 1) return -1;
    return static_cast<int>(std::find_if(counts.begin(), counts.end(), gives) - counts.begin());
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
    if (const int giver = only_giver(); giver >= 0) return start_broadcast(giver);
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
    requests_.clear();
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

  /// Starts every block of in_ and out_ from and to every other member, in messages that MPI can
  /// name.
  void exchange(void* recv, const void* send, int tag) {
    const auto messages = [&](std::int64_t count, const auto& begin_message) {
      for (std::int64_t begin = 0; begin < count; begin += limits_.max_count) {
        begin_message(begin, static_cast<int>(std::min(limits_.max_count, count - begin)),
                      &requests_.emplace_back(MPI_REQUEST_NULL));
      }
    };
    for (int step = 1; step < size_; ++step) {
      const int from = (rank_ - step + size_) % size_;
      const auto i = static_cast<std::size_t>(from);
      messages(in_.counts[i], [&](std::int64_t begin, int count, MPI_Request* request) {
        MW_MPI(MPI_Irecv(advance(recv, in_.begins[i] + begin, call_.dtype), count, type_, from, tag,
                         comm_, request));
      });
    }
    for (int step = 1; step < size_; ++step) {
      const int to = (rank_ + step) % size_;
      const auto i = static_cast<std::size_t>(to);
      messages(out_.counts[i], [&](std::int64_t begin, int count, MPI_Request* request) {
        MW_MPI(MPI_Isend(advance(send, out_.begins[i] + begin, call_.dtype), count, type_, to, tag,
                         comm_, request));
      });
    }
  }

  MPI_Comm comm_;
  MpiLimits limits_;
  int tag_;
  CollectiveCall call_;
  Stream& stream_;
  MPI_Datatype type_;
  int rank_ = 0;
  int size_ = 1;
  int giver_ = 0;  // of a broadcast
  Counts block_begins_;
  Counts recv_begins_;
  Blocks out_;
  Blocks in_;
  std::vector<std::byte> scratch_;
  std::vector<const void*> inputs_;
  std::vector<MPI_Request> requests_;
  State state_ = State::kIdle;
  std::int64_t begin_ = 0;  // of the chunk
};

}  // namespace

MPI_Datatype mpi_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return MPI_FLOAT;
    case DType::kInt32:
      return MPI_INT32_T;
    case DType::kInt64:
      return MPI_INT64_T;
    case DType::kUInt8:
      return MPI_UINT8_T;
    case DType::kBFloat16:
    case DType::kFloat16:
      return MPI_UINT16_T;  // moved, never added up
    default:
      break;  // no values of programs
  }
  MW_CHECK(false, "dtype {}", to_string(dtype));
}

std::unique_ptr<PreparedCall> message_call(MPI_Comm comm, const MpiLimits& limits, int tag,
                                           const CollectiveCall& call, Stream& stream) {
  return std::make_unique<MessageCall>(comm, limits, tag, call, stream);
}

}  // namespace meshwork
