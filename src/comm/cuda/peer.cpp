#include "comm/cuda/peer.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/check.h"
#include "base/error.h"

namespace meshwork::cuda {
namespace {

/// The peers of this process by number: what one thread tells another of them. They are gone where
/// their owner is.
class Registry {
 public:
  std::int64_t add(const std::shared_ptr<Peer>& peer) {
    const std::lock_guard lock(mutex_);
    std::erase_if(peers_, [](const auto& other) { return other.second.expired(); });
    peers_[++last_] = peer;
    return last_;
  }
  std::shared_ptr<Peer> find(std::int64_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = peers_.find(number);
    return found == peers_.end() ? nullptr : found->second.lock();
  }

 private:
  std::mutex mutex_;
  std::map<std::int64_t, std::weak_ptr<Peer>> peers_;
  std::int64_t last_ = 0;
};

Registry& registry() {
  static Registry all;
  return all;
}

/// Whether all expect what the others send; members of an all_to_all may each say something else.
bool counts_fit(const Peers& peers) {
  for (std::size_t from = 0; from < peers.size(); ++from) {
    for (std::size_t to = 0; to < peers.size(); ++to) {
      if (peers[from]->call.counts[to] != peers[to]->call.recv_counts[from]) return false;
    }
  }
  return true;
}

}  // namespace

Peers exchange(Hosts& hosts, const std::shared_ptr<Peer>& mine, std::int64_t call) {
  Peers peers;
  for (const std::int64_t number : hosts.gather(registry().add(mine))) {
    peers.push_back(registry().find(number));
  }
  hosts.meet(call);  // until all have found all
  if (std::count(peers.begin(), peers.end(), nullptr) > 0) {
    fail(ExitCode::kCommunication, "another device has left a call that is being prepared");
  }
  return peers;
}

void check_same_call(const Peers& peers) {
  const CollectiveCall& first = peers[0]->call;
  const bool to_each = first.kind == CollectiveCall::Kind::kAllToAll;
  for (std::size_t i = 1; i < peers.size(); ++i) {
    const CollectiveCall& other = peers[i]->call;
    const bool same = other.kind == first.kind && other.dtype == first.dtype &&
                      other.reduction == first.reduction && other.count == first.count &&
                      (to_each || other.counts == first.counts);
    MW_CHECK(same, "device 0 and device {} of {} prepare different calls", i, peers.size());
  }
  MW_CHECK(!to_each || counts_fit(peers),
           "members of an all_to_all do not send what others expect");
}

}  // namespace meshwork::cuda
