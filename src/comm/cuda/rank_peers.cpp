#include "comm/cuda/rank_peers.h"

#include <algorithm>
#include <utility>

#include "comm/blocks.h"
#include "comm/call.h"

namespace meshwork::cuda {
namespace {

using Kind = CollectiveCall::Kind;

/// What a member tells the others: numbers alone.
struct Offer {
  SharedPlace slots, send, recv;  ///< slots; without them buffers, of others only what they come to
  std::int64_t is_whole = 0;      ///< all that others need is there
};

/// How others open the events of a member.
struct EventOffer {
  std::array<Handle, 2> ready{};
  Handle done{};
  std::int64_t is_whole = 0;
};

bool is_whole(const PeerEvents& events) {
  return events.ready[0] && events.ready[1] && events.done;
}

EventOffer make_events(PeerEvents& mine, const SharedGpu& share) {
  EventOffer offer;
  for (std::size_t i = 0; i < 2; ++i) mine.ready[i] = share.make_event(offer.ready[i]);
  mine.done = share.make_event(offer.done);
  offer.is_whole = is_whole(mine) ? 1 : 0;
  return offer;
}

/// Null where this one does not get at them.
std::shared_ptr<PeerEvents> open(const EventOffer& offer, const SharedGpu& share) {
  if (offer.is_whole == 0) return nullptr;
  auto events = std::make_shared<PeerEvents>();
  for (std::size_t i = 0; i < 2; ++i) events->ready[i] = share.open_event(offer.ready[i]);
  events->done = share.open_event(offer.done);
  return is_whole(*events) ? events : nullptr;
}

/// Slots of this member, and how others find them and its buffers.
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
  offer.is_whole = has_places ? 1 : 0;
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
    if (call.kind == Kind::kAllReduce) {
      peer->call.recv = share.open(offer.recv);
      if (peer->call.recv == nullptr) return nullptr;
    }
  }
  return peer;
}

}  // namespace

std::optional<GroupEvents> group_events(Hosts& hosts, SharedGpu& share) {
  const auto mine = std::make_shared<PeerEvents>();
  const std::vector<EventOffer> offers = hosts.gather_all(make_events(*mine, share));
  GroupEvents events{.members = {}, .rounds = std::make_shared<std::int64_t>()};
  bool are_open = true;
  for (int rank = 0; rank < hosts.size(); ++rank) {
    const EventOffer& offer = offers[static_cast<std::size_t>(rank)];
    events.members.push_back(rank == hosts.rank() ? mine : open(offer, share));
    are_open = are_open && offer.is_whole != 0 && events.members.back() != nullptr;
  }
  share.keep(mine);
  if (!hosts.all(are_open)) return std::nullopt;
  return events;
}

std::optional<Peers> rank_peers(Hosts& hosts, const CollectiveCall& call, SharedGpu& share,
                                const GroupEvents& events) {
  const std::vector<CollectiveCall> calls = gather_calls(hosts, call);
  check_same_call(calls);
  const auto mine = std::make_shared<Peer>(call);
  const std::vector<Offer> offers = hosts.gather_all(make_offer(*mine, hosts.rank(), share));
  Peers peers{.memory = share.shared_from_this(),
              .members = {},
              .rounds = events.rounds,
              .are_threads = false};
  bool are_open = true;
  for (int rank = 0; rank < hosts.size(); ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    peers.members.push_back(rank == hosts.rank() ? mine : open(offers[i], calls[i], share));
    are_open = are_open && offers[i].is_whole != 0 && peers.members.back() != nullptr;
    if (are_open) peers.members.back()->events = events.members[i];
  }
  if (!hosts.all(are_open)) return std::nullopt;
  return peers;
}

}  // namespace meshwork::cuda
