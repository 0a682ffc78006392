#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "comm/call.h"
#include "comm/cuda/hosts.h"
#include "comm/cuda/nccl/call.h"
#include "comm/cuda/nccl/guard.h"
#include "comm/cuda/nccl/library.h"
#include "comm/cuda/peer.h"
#include "comm/nccl_communicator.h"
#include "device/cuda_device.h"

namespace meshwork {
namespace {

using cuda::CudaStream;
using cuda::Gpu;
using cuda::Hosts;
using cuda::NcclConnection;
using cuda::NcclGuard;

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(std::shared_ptr<Hosts> hosts, std::shared_ptr<Device> device, Gpu& gpu,
                   std::shared_ptr<NcclGuard> guard)
      : hosts_(std::move(hosts)), device_(std::move(device)), gpu_(gpu), guard_(std::move(guard)) {}

  int rank() const override { return hosts_->rank(); }
  int size() const override { return hosts_->size(); }

  std::unique_ptr<Communicator> group(std::span<const int> members) override {
    auto hosts = std::make_shared<Hosts>(hosts_->communicator().group(members));
    return std::make_unique<NcclCommunicator>(std::move(hosts), device_, gpu_, guard_);
  }

  /// A group that exchanges nothing takes nothing of NCCL.
  std::unique_ptr<PreparedCall> prepare(const CollectiveCall& call, Stream& stream) override {
    CudaStream& mine = cuda::cuda_stream(stream, gpu_);
    check_call(call, size());
    if (size() == 1) return own_copy(call, mine);
    cuda::check_same_call(cuda::gather_calls(*hosts_, call));
    if (connection_ == nullptr) {
      connection_ = std::make_shared<NcclConnection>(hosts_, gpu_, guard_);
    }
    return cuda::nccl_call(connection_, call, rank(), *device_, mine);
  }

  void check_members() const override { hosts_->communicator().check_members(); }

  /// Any memory is as good.
  std::shared_ptr<std::byte> allocate(std::int64_t /*bytes*/) override { return nullptr; }

 private:
  std::shared_ptr<Hosts> hosts_;
  std::shared_ptr<Device> device_;  ///< that gives memory
  Gpu& gpu_;
  std::shared_ptr<NcclGuard> guard_;
  std::shared_ptr<NcclConnection> connection_;
};

/// What a member says of itself.
struct Self {
  cuda::GpuId gpu{};
  std::int64_t number = 0;
};

/// NCCL takes one device of a GPU.
void check_apart(Hosts& hosts, const Gpu& gpu) {
  const std::vector<Self> all = hosts.gather_all(Self{gpu.id(), gpu.number()});
  for (std::size_t second = 1; second < all.size(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      if (all[first].gpu != all[second].gpu) continue;
      fail(
          "collectives: nccl: devices {} and {} share GPU {}, and NCCL needs a GPU for each; take "
          "a mesh of no more devices than GPUs (--mesh), or say collectives: canonical",
          first, second, all[first].number);
    }
  }
}

}  // namespace

std::shared_ptr<Communicator> nccl_communicator(std::shared_ptr<Communicator> hosts, int gpu) {
  auto all = std::make_shared<Hosts>(std::move(hosts));
  Gpu& opened = Gpu::open(gpu);
  check_apart(*all, opened);
  check_nccl();
  return std::make_shared<NcclCommunicator>(std::move(all), make_cuda_device(gpu, {}), opened,
                                            std::make_shared<NcclGuard>(opened));
}

}  // namespace meshwork
