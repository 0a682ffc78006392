#include "comm/cuda/peer.h"

#include <algorithm>
#include <span>

#include "base/check.h"
#include "comm/call.h"
#include "comm/call_text.h"

namespace meshwork::cuda {
namespace {

using Kind = CollectiveCall::Kind;

// To read all of this from every member takes a kernel less time than another meeting takes.
constexpr std::size_t kMostSlotBytes = 32 << 10U;

/// Whether all expect what the others send; members of an all_to_all may each say something else.
bool counts_fit(const std::vector<CollectiveCall>& calls) {
  for (std::size_t from = 0; from < calls.size(); ++from) {
    for (std::size_t to = 0; to < calls.size(); ++to) {
      if (calls[from].counts[to] != calls[to].recv_counts[from]) return false;
    }
  }
  return true;
}

}  // namespace

std::size_t peer_slot_bytes(const CollectiveCall& call) { return slot_bytes(call, kMostSlotBytes); }

std::size_t slots_bytes(const CollectiveCall& call) {
  constexpr std::size_t kAlignment = 256;
  return (2 * peer_slot_bytes(call) + kAlignment - 1) / kAlignment * kAlignment;
}

std::vector<CollectiveCall> gather_calls(Hosts& hosts, const CollectiveCall& call) {
  const auto size = static_cast<std::size_t>(hosts.size());
  std::vector<std::int64_t> words{
      static_cast<std::int64_t>(call.kind), static_cast<std::int64_t>(call.dtype),
      static_cast<std::int64_t>(call.reduction), call.count, number_of(call.purpose)};
  const std::size_t head = words.size();
  words.resize(head + 2 * size);
  std::copy(call.counts.begin(), call.counts.end(),
            words.begin() + static_cast<std::ptrdiff_t>(head));
  std::copy(call.recv_counts.begin(), call.recv_counts.end(),
            words.end() - static_cast<std::ptrdiff_t>(size));
  const std::vector<std::int64_t> all = hosts.gather(words);
  std::vector<CollectiveCall> calls;
  for (std::size_t rank = 0; rank < size; ++rank) {
    const auto mine = std::span(all).subspan(rank * words.size(), words.size());
    const auto counts = mine.subspan(head, size), recv_counts = mine.subspan(head + size);
    calls.push_back({.kind = static_cast<Kind>(mine[0]),
                     .dtype = static_cast<DType>(mine[1]),
                     .reduction = static_cast<Reduction>(mine[2]),
                     .count = mine[3],
                     .counts = {counts.begin(), counts.end()},
                     .recv_counts = {recv_counts.begin(), recv_counts.end()},
                     .purpose = std::to_string(mine[4])});
  }
  return calls;
}

void check_same_call(const std::vector<CollectiveCall>& calls) {
  const CollectiveCall& first = calls[0];
  const bool to_each = first.kind == Kind::kAllToAll;
  for (std::size_t i = 1; i < calls.size(); ++i) {
    const CollectiveCall& other = calls[i];
    const bool same = other.kind == first.kind && other.dtype == first.dtype &&
                      other.reduction == first.reduction && other.count == first.count &&
                      other.purpose == first.purpose && (to_each || other.counts == first.counts);
    MW_CHECK(same, "device 0 and device {} of {} prepare different calls", i, calls.size());
  }
  MW_CHECK(!to_each || counts_fit(calls),
           "members of an all_to_all do not send what others expect");
}

}  // namespace meshwork::cuda
