// What one member alone has goes to all along a binomial tree.
#include "comm/message_call.h"

#include <sched.h>

#include "base/check.h"
#include "comm/blocks.h"
#include "comm/messages.h"

namespace meshwork {
namespace {

class MessageCall : public PreparedCall {
 public:
  MessageCall(const MpiRanks& ranks, const MpiLimits& limits, int tag, const CollectiveCall& call,
              Stream& stream)
      : tag_(tag),
        call_(call),
        stream_(stream),
        rank_(ranks.rank),
        size_(ranks.size),
        messages_(ranks.comm, call.dtype, limits.max_count) {
    messages_.reserve(2 * static_cast<std::size_t>(size_));
  }

  // Messages under way would be written to the buffers: a job that loses a rank ends as a whole.
  ~MessageCall() override = default;

  void start() override {
    MW_CHECK(is_idle_, "started before it was complete");
    is_idle_ = false;
    begin();
  }

  bool poll() override {
    while (!is_idle_ && messages_.are_done()) is_idle_ = !goes_on();
    return is_idle_;
  }

  void wait(std::span<PreparedCall* const> beside) override {
    poll_until_complete(*this, beside, [] { sched_yield(); });
  }

 protected:
  /// Starts the first messages.
  virtual void begin() = 0;
  /// All are done: starts those that follow; false: none do.
  virtual bool goes_on() = 0;

  /// The member so many places behind this one, or before it.
  int behind(int places) const { return (rank_ + places) % size_; }
  int before(int places) const { return (rank_ - places + size_) % size_; }

  int tag_;
  CollectiveCall call_;
  Stream& stream_;
  int rank_;
  int size_;
  Messages messages_;

 private:
  bool is_idle_ = true;
};

class Exchange final : public MessageCall {
 public:
  Exchange(const MpiRanks& ranks, const MpiLimits& limits, int tag, const CollectiveCall& call,
           Stream& stream)
      : MessageCall(ranks, limits, tag, call, stream),
        sent_(begins_of(call.counts)),
        received_(begins_of(call.recv_counts)) {}

 private:
  void begin() override {
    for (int places = 1; places < size_; ++places) {
      const int from = before(places);
      messages_.receive(received(from), count(call_.recv_counts, from), from, tag_);
    }
    for (int places = 1; places < size_; ++places) {
      const int to = behind(places);
      messages_.send(sent(to), count(call_.counts, to), to, tag_);
    }
    const std::int64_t own = count(call_.counts, rank_);
    MW_CHECK(own == count(call_.recv_counts, rank_));
    copy_elements(stream_, received(rank_), sent(rank_), own, call_.dtype);
  }
  bool goes_on() override { return false; }

  static std::int64_t count(const std::vector<std::int64_t>& counts, int member) {
    return counts[static_cast<std::size_t>(member)];
  }
  const std::byte* sent(int to) const {
    return advance(call_.send, sent_[static_cast<std::size_t>(to)], call_.dtype);
  }
  std::byte* received(int from) const {
    return advance(call_.recv, received_[static_cast<std::size_t>(from)], call_.dtype);
  }

  std::vector<std::int64_t> sent_, received_;  ///< where the blocks begin
};

/// Members count from the giver on. All but it receive of the one without their lowest bit.
class Broadcast final : public MessageCall {
 public:
  Broadcast(const MpiRanks& ranks, const MpiLimits& limits, int tag, const CollectiveCall& call,
            Stream& stream)
      : MessageCall(ranks, limits, tag, call, stream),
        giver_(only_giver(call.counts)),
        count_(total(call.counts)),
        place_((rank_ - giver_ + size_) % size_) {
    MW_CHECK(giver_ >= 0, "a gather of what several members have");
  }

 private:
  void begin() override {
    has_passed_on_ = false;
    if (place_ > 0) {
      return messages_.receive(call_.recv, count_, member_at(place_ & (place_ - 1)), tag_);
    }
    copy_elements(stream_, call_.recv, call_.send, count_, call_.dtype);
    pass_on();
  }

  bool goes_on() override {
    if (has_passed_on_) return false;
    pass_on();
    return true;
  }

  /// To those with one bit more, below the lowest.
  void pass_on() {
    has_passed_on_ = true;
    for (int bit = 1; (place_ & bit) == 0 && place_ + bit < size_; bit *= 2) {
      messages_.send(call_.recv, count_, member_at(place_ + bit), tag_);
    }
  }

  int member_at(int place) const { return (place + giver_) % size_; }

  int giver_;
  std::int64_t count_;
  int place_;
  bool has_passed_on_ = false;
};

}  // namespace

std::unique_ptr<PreparedCall> message_call(const MpiRanks& ranks, const MpiLimits& limits, int tag,
                                           const CollectiveCall& call, Stream& stream) {
  if (call.kind == CollectiveCall::Kind::kAllToAll) {
    return std::make_unique<Exchange>(ranks, limits, tag, call, stream);
  }
  MW_CHECK(call.kind == CollectiveCall::Kind::kAllGather, "a reduction by messages alone");
  return std::make_unique<Broadcast>(ranks, limits, tag, call, stream);
}

}  // namespace meshwork
