#include "comm/cuda/peer.h"

#include "base/check.h"
#include "comm/direct_call.h"

namespace meshwork::cuda {
namespace {

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

void check_same_call(const std::vector<CollectiveCall>& calls) {
  const CollectiveCall& first = calls[0];
  const bool to_each = first.kind == CollectiveCall::Kind::kAllToAll;
  for (std::size_t i = 1; i < calls.size(); ++i) {
    const CollectiveCall& other = calls[i];
    const bool same = other.kind == first.kind && other.dtype == first.dtype &&
                      other.reduction == first.reduction && other.count == first.count &&
                      (to_each || other.counts == first.counts);
    MW_CHECK(same, "device 0 and device {} of {} prepare different calls", i, calls.size());
  }
  MW_CHECK(!to_each || counts_fit(calls),
           "members of an all_to_all do not send what others expect");
}

}  // namespace meshwork::cuda
