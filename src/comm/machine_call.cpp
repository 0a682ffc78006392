// Part i of a reduction belongs to member i, as block i of a gather does. On each other machine one
// member is the agent of member i: it reduces what its machine has of part i, as far as the
// canonical order lets it, and sends that. Member i reduces what has come with what its own machine
// has. The result, like a block, goes to the agents, and on each machine to all by shared memory.
#include "comm/machine_call.h"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "comm/blocks.h"
#include "comm/chunks.h"
#include "comm/messages.h"
#include "device/tree_sum.h"

namespace meshwork {
namespace {

using Kind = CollectiveCall::Kind;

class MachineCall final : public PreparedCall {
 public:
  MachineCall(const MpiRanks& ranks, const MpiLimits& limits, int tag, const CollectiveCall& call,
              MachineSite site, Stream& stream)
      : tag_(tag),
        call_(call),
        site_(std::move(site)),
        stream_(stream),
        rank_(ranks.rank),
        size_(ranks.size),
        machine_(site_.machines.of(rank_)),
        messages_(ranks.comm, call.dtype, limits.max_count),
        chunks_(call_, size_, limits.chunk_bytes) {
    for (int places = 1; places < size_; ++places) {
      const int member = (rank_ + places) % size_;  // not all at the same one first
      const bool is_near = site_.machines.of(member) == machine_;
      if (!is_near && agent(machine_, member) == rank_) wards_.push_back(member);
    }
    for (int steps = 1; steps < site_.machines.count(); ++steps) {
      far_.push_back((machine_ + steps) % site_.machines.count());
    }
    messages_.reserve(2 * (far_.size() + wards_.size()));
    if (call_.kind == Kind::kAllGather) {
      begins_ = begins_of(call_.counts);
    } else {
      plan_reduction();
    }
  }

  // Messages under way would be written to the buffers: a job that loses a rank ends as a whole.
  ~MachineCall() override = default;

  void start() override {
    MW_CHECK(state_ == State::kIdle, "started before it was complete");
    target_ += static_cast<std::uint32_t>(near().size());
    state_ = State::kStarted;
    board().started.arrive(target_);
    poll();
  }

  bool poll() override {
    if (state_ == State::kStarted && board().started.has_reached(target_)) begin();
    while (is_under_way() && messages_.are_done()) advance_state();
    if (state_ == State::kWorked && board().done.has_reached(target_)) state_ = State::kIdle;
    if (state_ == State::kStarted || state_ == State::kWorked) progress_messages();
    return state_ == State::kIdle;
  }

  void wait(std::span<PreparedCall* const> beside) override {
    poll_until_complete(*this, beside, [&] { rest(beside.empty() ? kSleepTime : kPollTime); });
  }

 private:
  enum class State { kIdle, kStarted, kParts, kResults, kBlocks, kWorked };

  /// What comes of another machine for the own part: its subtrees of the tree, one after the other.
  struct Sender {
    int agent;
    std::int64_t subtrees;
    std::byte* parts;  ///< room for them
  };

  /// Of which the own part is reduced: a subtree, and where its elements are.
  struct Source {
    Subtree subtree;
    const Sender* sender = nullptr;  ///< none: what a member on this machine sends
    std::int64_t place = 0;          ///< among the subtrees of the sender
  };

  int agent(int machine, int member) const { return site_.machines.agent(machine, member); }
  const std::vector<int>& near() const { return site_.machines.members(machine_); }
  CallBoard& board() const { return *reinterpret_cast<CallBoard*>(site_.board.get()); }

  /// Leaves the core to others. Those on this machine wake who sleeps, messages wake nobody.
  void rest(std::chrono::nanoseconds most) const {
    if (is_under_way()) {
      sched_yield();
    } else if (state_ != State::kIdle) {
      WaitWord& counter = state_ == State::kStarted ? board().started : board().done;
      counter.sleep([&](std::uint32_t count) { return WaitWord::reaches(count, target_); }, most);
    }
  }
  bool is_under_way() const {
    return state_ == State::kParts || state_ == State::kResults || state_ == State::kBlocks;
  }
  std::int64_t count_of(int member) const {
    return chunks_.counts()[static_cast<std::size_t>(member)];
  }
  std::int64_t begin_of(int member) const {
    return chunks_.begins()[static_cast<std::size_t>(member)];
  }
  const std::byte* sent_by_near(int member, std::int64_t begin) const {
    return advance(site_.buffers.sends[static_cast<std::size_t>(member)], begin, call_.dtype);
  }
  std::byte* received(std::int64_t begin) const { return advance(call_.recv, begin, call_.dtype); }

  std::vector<Subtree> subtrees_of(int machine) const {
    return whole_subtrees(size_, [&](int member) { return site_.machines.of(member) == machine; });
  }

  void plan_reduction() {
    given_ = subtrees_of(machine_);
    const std::size_t bytes = bytes_of(chunks_.most(), call_.dtype);
    std::size_t pieces = 0;
    senders_.reserve(far_.size());  // sources_ point to them
    for (const int machine : far_) {
      const std::vector<Subtree> subtrees = subtrees_of(machine);
      senders_.push_back({agent(machine, rank_), std::ssize(subtrees), nullptr});
      for (std::size_t i = 0; i < subtrees.size(); ++i) {
        sources_.push_back({subtrees[i], &senders_.back(), static_cast<std::int64_t>(i)});
      }
      pieces += subtrees.size();
    }
    for (const int member : near()) sources_.push_back({{member, 1}});
    std::ranges::sort(sources_, {}, [](const Source& source) { return source.subtree.first; });
    for (const Source& source : sources_) tree_.push_back(source.subtree);
    inputs_.reserve(static_cast<std::size_t>(size_));
    scratch_.resize(bytes * (pieces + wards_.size() * given_.size()));
    std::byte* place = scratch_.data();
    for (Sender& sender : senders_) {
      sender.parts = place;
      place += bytes * static_cast<std::size_t>(sender.subtrees);
    }
    of_wards_ = place;
  }

  /// All on this machine have given their data and their room for results.
  void begin() {
    if (call_.kind == Kind::kAllGather) return start_blocks();
    chunks_.begin();
    start_parts();
  }

  void start_parts() {
    for (const Sender& sender : senders_) {
      messages_.receive(sender.parts, sender.subtrees * count_of(rank_), sender.agent, tag_);
    }
    std::byte* room = of_wards_;
    for (const int ward : wards_) {
      const std::int64_t count = std::ssize(given_) * count_of(ward);
      messages_.send(reduced_for(ward, room), count, ward, tag_);
      room += bytes_of(chunks_.most(), call_.dtype) * given_.size();
    }
    state_ = State::kParts;
  }

  /// What the members on this machine have of a part, reduced to subtrees, in `room` or where it
  /// is.
  const std::byte* reduced_for(int ward, std::byte* room) {
    const std::int64_t begin = begin_of(ward), count = count_of(ward);
    if (given_.size() == 1 && given_[0].leaves == 1) return sent_by_near(given_[0].first, begin);
    for (std::size_t i = 0; i < given_.size(); ++i) {
      inputs_.clear();
      for (int leaf = 0; leaf < given_[i].leaves; ++leaf) {
        inputs_.push_back(sent_by_near(given_[i].first + leaf, begin));
      }
      tree_reduce(inputs_, advance(room, static_cast<std::int64_t>(i) * count, call_.dtype), count,
                  call_.dtype, call_.reduction);
    }
    return room;
  }

  void finish_parts() {
    const std::int64_t count = count_of(rank_);
    inputs_.clear();
    for (const Source& source : sources_) {
      inputs_.push_back(source.sender == nullptr
                            ? sent_by_near(source.subtree.first, begin_of(rank_))
                            : advance(source.sender->parts, source.place * count, call_.dtype));
    }
    std::byte* const result = received(chunks_.received(rank_));
    tree_reduce(inputs_, tree_, result, count, call_.dtype, call_.reduction);
    if (call_.kind == Kind::kReduceScatter) return finish_chunk();
    hand_out(begin_of(rank_), count);
    for (const int ward : wards_) {
      messages_.receive(received(begin_of(ward)), count_of(ward), ward, tag_ + 1);
    }
    for (const Sender& sender : senders_) messages_.send(result, count, sender.agent, tag_ + 1);
    state_ = State::kResults;
  }

  void finish_results() {
    for (const int ward : wards_) hand_out(begin_of(ward), count_of(ward));
    finish_chunk();
  }

  void finish_chunk() {
    if (chunks_.next()) return start_parts();
    leave();
  }

  void start_blocks() {
    const auto counts = [&](int member) { return call_.counts[static_cast<std::size_t>(member)]; };
    const auto begins = [&](int member) { return begins_[static_cast<std::size_t>(member)]; };
    for (const int ward : wards_) {
      messages_.receive(received(begins(ward)), counts(ward), ward, tag_);
    }
    for (const int machine : far_) {
      messages_.send(call_.send, counts(rank_), agent(machine, rank_), tag_);
    }
    for (const int member : near()) {
      std::byte* const to = received(begins(member));
      const std::byte* const from = sent_by_near(member, 0);
      if (to != from) copy_elements(stream_, to, from, counts(member), call_.dtype);
    }
    state_ = State::kBlocks;
  }

  void finish_blocks() {
    for (const int ward : wards_) {
      const auto i = static_cast<std::size_t>(ward);
      hand_out(begins_[i], call_.counts[i]);
    }
    leave();
  }

  /// What this member has received, to the others on this machine.
  void hand_out(std::int64_t begin, std::int64_t count) {
    for (const int member : near()) {
      if (member == rank_) continue;
      std::byte* const to = site_.buffers.recvs[static_cast<std::size_t>(member)];
      copy_elements(stream_, advance(to, begin, call_.dtype), received(begin), count, call_.dtype);
    }
  }

  /// Others may still read and write the buffers.
  void leave() {
    state_ = State::kWorked;
    board().done.arrive(target_);
  }

  void advance_state() {
    switch (state_) {
      case State::kParts:
        return finish_parts();
      case State::kResults:
        return finish_results();
      case State::kBlocks:
        return finish_blocks();
      default:
        MW_CHECK(false);
    }
  }

  int tag_;
  CollectiveCall call_;
  MachineSite site_;
  Stream& stream_;
  int rank_;
  int size_;
  int machine_;
  Messages messages_;
  Chunks chunks_;
  std::vector<int> far_;              ///< the other machines
  std::vector<int> wards_;            ///< members on other machines whose agent this one is
  std::vector<std::int64_t> begins_;  ///< of the blocks of a gather
  std::vector<Subtree> given_;        ///< what this machine makes of its members' data
  std::vector<Sender> senders_;       ///< one for each other machine
  std::vector<Source> sources_;       ///< of the own part, in the order of the tree
  std::vector<Subtree> tree_;         ///< their subtrees
  std::vector<const void*> inputs_;
  std::vector<std::byte> scratch_;
  std::byte* of_wards_ = nullptr;  ///< in scratch_: what is sent of their parts
  State state_ = State::kIdle;
  std::uint32_t target_ = 0;  ///< of the board's counts
};

}  // namespace

std::unique_ptr<PreparedCall> machine_call(const MpiRanks& ranks, const MpiLimits& limits, int tag,
                                           const CollectiveCall& call, MachineSite site,
                                           Stream& stream) {
  return std::make_unique<MachineCall>(ranks, limits, tag, call, std::move(site), stream);
}

}  // namespace meshwork
