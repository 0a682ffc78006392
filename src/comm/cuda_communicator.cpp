#include "comm/cuda_communicator.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/check.h"
#include "comm/blocks.h"
#include "comm/call.h"
#include "comm/cuda/hosts.h"
#include "comm/cuda/kernels.h"
#include "comm/cuda/peer_call.h"
#include "comm/cuda/rank_peers.h"
#include "comm/cuda/staged_call.h"
#include "comm/cuda/staging.h"
#include "comm/cuda/thread_peers.h"
#include "device/cuda_device.h"

namespace meshwork {
namespace {

using cuda::CudaStream;
using cuda::Gpu;
using cuda::Hosts;

/// How the members of a group reach each other's memory: alike in all of them.
enum class Way { kThreads, kRanks, kHosts };

/// What a member says of itself.
struct Self {
  std::int64_t process = 0, machine = 0, number = 0;
  cuda::GpuId gpu{};
};

/// `share` of ranks, or null; the `events` of those that reach each other are made.
Way way_between(Hosts& hosts, Gpu& gpu, std::int64_t machine, cuda::SharedGpu* share,
                std::optional<cuda::GroupEvents>& events) {
  const Self mine{process_mark(), machine, gpu.number(), gpu.id()};
  const std::vector<Self> selves = hosts.gather_all(mine);
  const auto others_are = [&](const auto& so) {
    return std::all_of(selves.begin(), selves.end(), so) && hosts.size() <= cuda::kMostPeers;
  };
  if (share == nullptr) {
    const bool reaches = others_are([&](const Self& other) {
      return other.process == mine.process && gpu.reach(Gpu::open(static_cast<int>(other.number)));
    });
    return hosts.all(reaches) ? Way::kThreads : Way::kHosts;
  }
  const bool may_reach = others_are(
      [&](const Self& other) { return other.machine == machine && gpu.has_link_to(other.gpu); });
  // By trying: containers may keep them apart.
  if (hosts.all(may_reach)) events = cuda::group_events(hosts, *share);
  const bool reach = events && cuda::rank_peers(hosts, {.count = 1}, *share, *events);
  return reach ? Way::kRanks : Way::kHosts;
}

/// Of members that are processes of their own; null where some share a process.
std::shared_ptr<cuda::SharedGpu> share_of_ranks(const std::shared_ptr<Hosts>& hosts,
                                                const std::shared_ptr<Device>& device,
                                                const Gpu& gpu) {
  std::vector<std::int64_t> marks = hosts->gather(process_mark());
  std::sort(marks.begin(), marks.end());
  const bool are_ranks = std::adjacent_find(marks.begin(), marks.end()) == marks.end();
  if (marks.size() == 1 || !are_ranks) return nullptr;
  return std::make_shared<cuda::SharedGpu>(hosts, device, gpu);
}

/// The ways between devices; one more is one more file in cuda/ and one line in prepare().
class CudaCommunicator final : public Communicator {
 public:
  CudaCommunicator(std::shared_ptr<Hosts> hosts, std::shared_ptr<cuda::Staging> staging, Gpu& gpu,
                   std::int64_t machine, std::shared_ptr<cuda::SharedGpu> share)
      : hosts_(std::move(hosts)),
        staging_(std::move(staging)),
        gpu_(gpu),
        machine_(machine),
        share_(std::move(share)),
        way_(size() == 1 ? Way::kHosts
                         : way_between(*hosts_, gpu, machine, share_.get(), events_)) {}

  int rank() const override { return hosts_->rank(); }
  int size() const override { return hosts_->size(); }

  std::unique_ptr<Communicator> group(std::span<const int> members) override {
    auto hosts = std::make_shared<Hosts>(hosts_->communicator().group(members));
    return std::make_unique<CudaCommunicator>(std::move(hosts), staging_, gpu_, machine_, share_);
  }

  std::unique_ptr<PreparedCall> prepare(const CollectiveCall& call, Stream& stream) override {
    CudaStream& mine = cuda::cuda_stream(stream, gpu_);
    check_call(call, size());
    if (size() == 1) return own_copy(call, mine);
    if (auto peers = find_peers(call)) {
      return cuda::peer_call(hosts_, call, std::move(*peers), mine);
    }
    return cuda::staged_call(hosts_, call, *staging_, mine);
  }

  /// Of threads any memory is as good.
  std::shared_ptr<std::byte> allocate(std::int64_t bytes) override {
    if (share_ == nullptr) return nullptr;
    std::shared_ptr<std::byte> memory = share_->allocate(bytes);
    return hosts_->all(memory != nullptr) ? memory : nullptr;
  }

 private:
  std::optional<cuda::Peers> find_peers(const CollectiveCall& call) {
    if (way_ == Way::kThreads) return cuda::thread_peers(*hosts_, call, staging_->device(), gpu_);
    if (way_ == Way::kRanks) return cuda::rank_peers(*hosts_, call, *share_, *events_);
    return std::nullopt;
  }

  std::shared_ptr<Hosts> hosts_;
  std::shared_ptr<cuda::Staging> staging_;
  Gpu& gpu_;
  std::int64_t machine_;
  std::shared_ptr<cuda::SharedGpu> share_;   ///< of ranks; null: of threads
  std::optional<cuda::GroupEvents> events_;  ///< of ranks that reach each other
  Way way_;
};

}  // namespace

std::shared_ptr<Communicator> cuda_communicator(std::shared_ptr<Communicator> hosts, int gpu,
                                                std::int64_t machine) {
  auto all = std::make_shared<Hosts>(std::move(hosts));
  std::shared_ptr<Device> device = make_cuda_device(gpu, {});
  Gpu& opened = Gpu::open(gpu);
  auto share = share_of_ranks(all, device, opened);
  auto staging = std::make_shared<cuda::Staging>(std::move(device));
  return std::make_shared<CudaCommunicator>(std::move(all), std::move(staging), opened, machine,
                                            std::move(share));
}

std::int64_t cuda_call_bytes(const CollectiveCall& call) {
  return static_cast<std::int64_t>(cuda::slots_bytes(call));
}

}  // namespace meshwork
