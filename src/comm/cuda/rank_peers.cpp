#include "comm/cuda/rank_peers.h"

#include <algorithm>
#include <utility>

#include "comm/blocks.h"
#include "comm/direct_call.h"

namespace meshwork::cuda {
namespace {

using Kind = CollectiveCall::Kind;

/// What a member tells the others: numbers alone.
struct Offer {
  SharedPlace slots, send, recv;  ///< slots; without them buffers, of others only what they come to
  std::array<Handle, 2> ready{};
  Handle done{};
  std::int64_t is_whole = 0;  ///< all that others need is there
};

/// Events and slots of this member, and how others find them and its buffers.
Offer make_offer(Peer& mine, int rank, SharedGpu& share) {
  Offer offer;
  const CollectiveCall& call = mine.call;
  const std::size_t slots = slots_bytes(call);
  if (slots > 0) {
    std::byte* const memory = share.allocate_slots(slots);
    if (memory == nullptr) return offer;
    mine.slots = {std::shared_ptr<void>(), memory};
    offer.slots = share.find(memory, slots);
  } else {
    const std::size_t sent = bytes_of(sent_by(call, rank), call.dtype);
    offer.send = share.find(call.send, sent);
    if (call.kind == Kind::kAllReduce) offer.recv = share.find(call.recv, sent);
  }
  const bool has_places = slots > 0 ? offer.slots.offset >= 0
                                    : offer.send.offset >= 0 &&
                                          (call.kind != Kind::kAllReduce || offer.recv.offset >= 0);
  if (!has_places) return offer;
  for (std::size_t i = 0; i < 2; ++i) mine.ready[i] = share.make_event(offer.ready[i]);
  mine.done = share.make_event(offer.done);
  offer.is_whole = mine.ready[0] && mine.ready[1] && mine.done ? 1 : 0;
  return offer;
}

/// The member that made an offer; null where this one does not get at it.
std::shared_ptr<Peer> open(const Offer& offer, const CollectiveCall& call, SharedGpu& share) {
  if (offer.is_whole == 0) return nullptr;
  const auto peer = std::make_shared<Peer>(call);
  if (peer_slot_bytes(call) > 0) {
    peer->slots = {std::shared_ptr<void>(), share.open(offer.slots)};
    if (peer->slots == nullptr) return nullptr;
  } else {
    peer->call.send = share.open(offer.send);
    if (peer->call.send == nullptr) return nullptr;
    if (call.kind == Kind::kAllReduce) peer->call.recv = share.open(offer.recv);
  }
  for (std::size_t i = 0; i < 2; ++i) peer->ready[i] = share.open_event(offer.ready[i]);
  peer->done = share.open_event(offer.done);
  return peer->ready[0] && peer->ready[1] && peer->done ? peer : nullptr;
}

}  // namespace

std::optional<Peers> rank_peers(Hosts& hosts, const CollectiveCall& call, SharedGpu& share) {
  const std::vector<CollectiveCall> calls = gather_calls(hosts, call);
  check_same_call(calls);
  const auto mine = std::make_shared<Peer>(call);
  const std::vector<Offer> offers = hosts.gather_all(make_offer(*mine, hosts.rank(), share));
  Peers peers{.members = {}, .are_threads = false, .memory = share.shared_from_this()};
  bool are_open = true;
  for (int rank = 0; rank < hosts.size(); ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    peers.members.push_back(rank == hosts.rank() ? mine : open(offers[i], calls[i], share));
    are_open = are_open && offers[i].is_whole != 0 && peers.members.back() != nullptr;
  }
  share.keep(mine);
  if (!hosts.all(are_open)) return std::nullopt;
  return peers;
}

}  // namespace meshwork::cuda
