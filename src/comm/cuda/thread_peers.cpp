#include "comm/cuda/thread_peers.h"

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

}  // namespace

Peers thread_peers(Hosts& hosts, const CollectiveCall& call, Device& device, const Gpu& gpu) {
  const auto mine = std::make_shared<Peer>(call);
  const std::size_t slots = slots_bytes(call);
  if (slots > 0) mine->slots = device.allocate(static_cast<std::int64_t>(slots));
  mine->events = std::make_shared<PeerEvents>();
  for (auto& event : mine->events->ready) event = std::make_unique<CudaEvent>(gpu);
  mine->events->done = std::make_unique<CudaEvent>(gpu);
  Peers peers{.memory = nullptr,
              .members = {},
              .rounds = std::make_shared<std::int64_t>(),
              .are_threads = true};
  for (const std::int64_t number : hosts.gather(registry().add(mine))) {
    peers.members.push_back(registry().find(number));
  }
  hosts.meet(hosts.next_call());  // until all have found all
  if (std::count(peers.members.begin(), peers.members.end(), nullptr) > 0) {
    fail(ExitCode::kCommunication, "another device has left a call that is being prepared");
  }
  std::vector<CollectiveCall> calls;
  for (const auto& peer : peers.members) calls.push_back(peer->call);
  check_same_call(calls);
  return peers;
}

}  // namespace meshwork::cuda
