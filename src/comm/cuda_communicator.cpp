#include "comm/cuda_communicator.h"

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "base/check.h"
#include "comm/blocks.h"
#include "comm/cuda/hosts.h"
#include "comm/cuda/kernels.h"
#include "comm/cuda/peer_call.h"
#include "comm/cuda/staged_call.h"
#include "comm/direct_call.h"
#include "device/cuda_device.h"

namespace meshwork {
namespace {

using cuda::CudaStream;
using cuda::Gpu;
using cuda::Hosts;

/// Of this process alone.
std::int64_t process_mark() {
  static const std::int64_t mark = [] {
    std::random_device random;
    return static_cast<std::int64_t>(std::uint64_t{random()} << 32U | random());
  }();
  return mark;
}

/// Whether all members live in this process and the GPU of each reaches those of all: alike in all
/// of them.
bool all_reach_each_other(Hosts& hosts, Gpu& gpu) {
  const std::vector<std::int64_t> marks = hosts.gather(process_mark());
  const std::vector<std::int64_t> numbers = hosts.gather(gpu.number());
  bool reaches = hosts.size() <= cuda::kMostPeers;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    reaches =
        reaches && marks[i] == process_mark() && gpu.reach(Gpu::open(static_cast<int>(numbers[i])));
  }
  const std::vector<std::int64_t> all = hosts.gather(reaches ? 1 : 0);
  return std::count(all.begin(), all.end(), 0) == 0;
}

/// What one member sends itself.
class OwnCopy final : public PreparedCall {
 public:
  OwnCopy(const CollectiveCall& call, CudaStream& stream) : call_(call), stream_(stream) {}

  void start() override {
    copy_elements(stream_, call_.recv, call_.send, sent_by(call_, 0), call_.dtype);
  }
  bool poll() override { return true; }
  void wait(std::span<PreparedCall* const> /*beside*/) override {}

 private:
  CollectiveCall call_;
  CudaStream& stream_;
};

/// The ways between devices; one more is one more file in cuda/ and one line in prepare().
class CudaCommunicator final : public Communicator {
 public:
  CudaCommunicator(std::shared_ptr<Communicator> hosts, std::shared_ptr<Device> device, Gpu& gpu)
      : hosts_(std::make_shared<Hosts>(std::move(hosts))),
        device_(std::move(device)),
        gpu_(gpu),
        reach_each_other_(all_reach_each_other(*hosts_, gpu)) {}

  int rank() const override { return hosts_->rank(); }
  int size() const override { return hosts_->size(); }

  std::unique_ptr<Communicator> group(std::span<const int> members) override {
    return std::make_unique<CudaCommunicator>(hosts_->communicator().group(members), device_, gpu_);
  }

  std::unique_ptr<PreparedCall> prepare(const CollectiveCall& call, Stream& stream) override {
    CudaStream& mine = cuda::cuda_stream(stream);
    MW_CHECK(&mine.gpu() == &gpu_, "a stream of GPU {} on GPU {}", mine.gpu().number(),
             gpu_.number());
    check_call(call, size());
    if (size() == 1) return std::make_unique<OwnCopy>(call, mine);
    if (reach_each_other_) return cuda::peer_call(hosts_, call, *device_, mine);
    return cuda::staged_call(hosts_, call, *device_, mine);
  }

  std::shared_ptr<std::byte> allocate(std::int64_t /*bytes*/) override { return nullptr; }

 private:
  std::shared_ptr<Hosts> hosts_;
  std::shared_ptr<Device> device_;  ///< that gives memory
  Gpu& gpu_;
  bool reach_each_other_;
};

}  // namespace

std::shared_ptr<Communicator> cuda_communicator(std::shared_ptr<Communicator> hosts, int gpu) {
  return std::make_shared<CudaCommunicator>(std::move(hosts), make_cuda_device(gpu, {}),
                                            Gpu::open(gpu));
}

}  // namespace meshwork
