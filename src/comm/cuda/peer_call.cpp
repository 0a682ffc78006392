// Kernels of each member read the memory of the others, ordered by events: a stream waits for those
// that the others have recorded, so hosts meet between the two. Small data are copied to slots, of
// which everyone takes or reduces all: one meeting. Other data are read where they are, and each
// member reduces its part and hands it out: a second meeting, behind which nobody reads or writes
// the buffers of another.
#include "comm/cuda/peer_call.h"

#include <sched.h>

#include <array>
#include <utility>

#include "base/check.h"
#include "comm/blocks.h"
#include "comm/call.h"
#include "comm/cuda/kernels.h"
#include "device/cuda/lost.h"

namespace meshwork::cuda {
namespace {

using Kind = CollectiveCall::Kind;

/// While it lives, a member enqueues what may touch the buffers of others.
class Enqueues {
 public:
  explicit Enqueues(Peer& peer) : peer_(peer) { peer_.enqueues = true; }
  ~Enqueues() { peer_.enqueues = false; }
  Enqueues(const Enqueues&) = delete;
  Enqueues& operator=(const Enqueues&) = delete;

 private:
  Peer& peer_;
};

class PeerCall final : public EnqueuedCall {
 public:
  PeerCall(std::shared_ptr<Hosts> hosts, const CollectiveCall& call, Peers peers,
           CudaStream& stream)
      : hosts_(std::move(hosts)),
        stream_(stream),
        number_(hosts_->next_call()),
        call_(call),
        slot_bytes_(peer_slot_bytes(call)),
        peers_(std::move(peers)) {
    for (int rank = 0; rank < size(); ++rank) is_empty_ = is_empty_ && sent(rank) == 0;
    for (std::size_t parity = 0; parity < 2; ++parity) share_[parity] = bind(parity);
  }

  /// Its kernels may still be at the slots of others, whose memory goes away with the last holder.
  ~PeerCall() override {
    if (is_pending_ && peers_.are_threads) leave();
    stream_.drain();
  }

  void start() override {
    MW_CHECK(!is_pending_, "started again after it failed");
    if (is_empty_) return;
    parity_ = 1 - parity_;
    const auto round = static_cast<std::size_t>(++*peers_.rounds % 2);
    is_pending_ = true;
    if (slot_bytes_ > 0)
      copy_elements(stream_, slot(rank()), call_.send, sent(rank()), call_.dtype);
    stream_.record(*me().events->ready[round]);
    hosts_->meet(number_);
    if (!enqueue_share(round)) fail_left();
    if (slot_bytes_ == 0) finish_round();
    is_pending_ = false;  // a slot is written again after the next round, when all have read
  }

 private:
  int rank() const { return hosts_->rank(); }
  int size() const { return hosts_->size(); }
  Peer& peer(int rank) const { return *peers_.members[static_cast<std::size_t>(rank)]; }
  Peer& me() const { return peer(rank()); }
  std::int64_t sent(int rank) const { return sent_by(peer(rank).call, rank); }
  std::byte* slot(int rank) const { return slot(rank, parity_); }
  std::byte* slot(int rank, std::size_t parity) const {
    return peer(rank).slots.get() + parity * slot_bytes_;
  }

  /// What member `rank` gives, from its element `offset` on.
  const std::byte* given(int rank, std::size_t parity, std::int64_t offset) const {
    const void* begin = slot_bytes_ > 0 ? slot(rank, parity) : peer(rank).call.send;
    return advance(begin, offset, call_.dtype);
  }

  Launch bind(std::size_t parity) const {
    switch (call_.kind) {
      case Kind::kAllReduce:
        return slot_bytes_ > 0 ? reduce_to_me(parity, 0, call_.count) : reduce_part();
      case Kind::kReduceScatter:
        return reduce_to_me(parity, offset_of(call_.counts, rank()),
                            call_.counts[static_cast<std::size_t>(rank())]);
      case Kind::kAllGather:
        return take(parity, call_.counts, [](int) { return std::int64_t{0}; });
      case Kind::kAllToAll:
        return take(parity, call_.recv_counts,
                    [&](int from) { return offset_of(peer(from).call.counts, rank()); });
    }
    MW_CHECK(false, "a collective");
  }

  Launch reduce_to_me(std::size_t parity, std::int64_t begin, std::int64_t count) const {
    return reduce(parity, begin, count, {static_cast<std::byte*>(call_.recv)});
  }

  /// In place too: part r of any buffer is read and written by member r alone.
  Launch reduce_part() const {
    const std::int64_t begin = part_begin(call_.count, rank(), size(), call_.dtype);
    const std::int64_t end = part_begin(call_.count, rank() + 1, size(), call_.dtype);
    std::vector<std::byte*> outputs;
    for (int step = 0; step < size(); ++step) {
      void* const recv = peer((rank() + step) % size()).call.recv;  // not all to the same at once
      outputs.push_back(advance(recv, begin, call_.dtype));
    }
    return reduce(0, begin, end - begin, outputs);
  }

  Launch reduce(std::size_t parity, std::int64_t begin, std::int64_t count,
                const std::vector<std::byte*>& outputs) const {
    std::vector<const std::byte*> inputs;
    for (int from = 0; from < size(); ++from) inputs.push_back(given(from, parity, begin));
    return reduction(stream_, inputs, outputs, count, call_.dtype, call_.reduction);
  }

  /// `offset(j)`: element of what member j gives at which the block for this one begins.
  template <class Offset>
  Launch take(std::size_t parity, std::span<const std::int64_t> counts,
              const Offset& offset) const {
    std::vector<Move> list;
    for (int step = 0; step < size(); ++step) {
      const int from = (rank() + step) % size();  // not all from the same at once
      const std::int64_t count = counts[static_cast<std::size_t>(from)];
      std::byte* const to = advance(call_.recv, offset_of(counts, from), call_.dtype);
      const bool is_there = from == rank() && to == call_.send;
      if (is_there || count == 0) continue;
      list.push_back({given(from, parity, offset(from)), to,
                      static_cast<std::int64_t>(bytes_of(count, call_.dtype))});
    }
    return moves(stream_, list);
  }

  /// False where a member has left the round. Either that is seen here, or it sees this one at
  /// work.
  bool enqueue_share(std::size_t round) {
    const Enqueues at_work(me());
    for (const auto& peer : peers_.members) {
      if (peer->left) return false;
      if (peer.get() != &me()) stream_.wait_for(*peer->events->ready[round]);
    }
    share_[parity_]();
    if (slot_bytes_ == 0) stream_.record(*me().events->done);
    return true;
  }

  void finish_round() {
    hosts_->meet(number_);
    for (const auto& peer : peers_.members) {
      if (peer.get() != &me()) stream_.wait_for(*peer->events->done);
    }
  }

  /// Who has left will not come to this meeting, which ends by saying why.
  void fail_left() {
    hosts_->meet(number_);
    MW_CHECK(false, "a device has left a call that others are in");
  }

  /// A round ends in an error: waits until nobody is at the buffers of this member. Where a GPU is
  /// lost none are given back.
  void leave() noexcept {
    me().left = true;
    for (const auto& peer : peers_.members) {
      if (is_one_lost()) return;
      while (peer->enqueues) sched_yield();
      try {
        peer->events->done->wait();
      } catch (...) {
        // A lost device reads nothing.
      }
    }
  }

  std::shared_ptr<Hosts> hosts_;
  CudaStream& stream_;
  std::int64_t number_;
  CollectiveCall call_;
  std::size_t slot_bytes_;
  Peers peers_;
  bool is_empty_ = true;
  std::array<Launch, 2> share_;  // of this member, by parity of the round
  std::size_t parity_ = 0;
  bool is_pending_ = false;
};

}  // namespace

std::unique_ptr<PreparedCall> peer_call(std::shared_ptr<Hosts> hosts, const CollectiveCall& call,
                                        Peers peers, CudaStream& stream) {
  return std::make_unique<PeerCall>(std::move(hosts), call, std::move(peers), stream);
}

}  // namespace meshwork::cuda
