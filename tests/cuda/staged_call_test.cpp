// Collectives of GPUs through memory of their hosts, where GPUs do not reach each other.
#include "comm/cuda/staged_call.h"

#include <doctest/doctest.h>

#include "comm/contract.h"
#include "comm/contract_case.h"
#include "comm/hosted_communicator.h"
#include "comm/thread.h"
#include "device/cuda_device.h"

using namespace meshwork;
using meshwork::test::hosted_communicator;

namespace {

using Kind = CollectiveCall::Kind;

/// All data through staging memory, also where GPUs reach each other.
class StagedCommunicator final : public Communicator {
 public:
  StagedCommunicator(std::shared_ptr<Communicator> hosts, std::shared_ptr<cuda::Staging> staging)
      : hosts_(std::make_shared<cuda::Hosts>(std::move(hosts))), staging_(std::move(staging)) {}
  int rank() const override { return hosts_->rank(); }
  int size() const override { return hosts_->size(); }
  std::unique_ptr<Communicator> group(std::span<const int> members) override {
    return std::make_unique<StagedCommunicator>(hosts_->communicator().group(members), staging_);
  }
  std::unique_ptr<PreparedCall> prepare(const CollectiveCall& call, Stream& stream) override {
    return cuda::staged_call(hosts_, call, *staging_, cuda::cuda_stream(stream));
  }
  std::shared_ptr<std::byte> allocate(std::int64_t /*bytes*/) override { return nullptr; }

 private:
  std::shared_ptr<cuda::Hosts> hosts_;
  std::shared_ptr<cuda::Staging> staging_;
};

std::shared_ptr<Communicator> staged_devices(const World& world) {
  std::shared_ptr<Device> device = make_cuda_device(world.hosts->rank() % gpu_count(), {});
  auto staging = std::make_shared<cuda::Staging>(device);
  return hosted_communicator(std::make_shared<StagedCommunicator>(world.devices, staging), device);
}

}  // namespace

TEST_CASE("GPU devices keep the contract through staging memory") {
  for (const int devices : {1, 2, 3, 4}) {
    CAPTURE(devices);
    run_devices(devices, [](World& world) {
      World mine{world.hosts, staged_devices(world)};
      test::check_contract_in_order(mine);
    });
  }
}

/// Each in more parts than staging memory has slots, of blocks that end in different ones.
TEST_CASE("GPU devices: calls that pass staging memory in many parts") {
  using test::Task;
  const std::int64_t slot = cuda::Staging::kMostBytes / 4;
  const std::int64_t slots = std::int64_t{cuda::StagingSlots::kCount} * slot;
  run_devices(3, [&](World& world) {
    const auto devices = staged_devices(world);
    for (const Task& task : std::vector<Task>{
             {.sent = {{2 * slots + 3}}},
             {.sent = {{slots + 1}}, .in_place = true},
             {.kind = Kind::kAllGather, .sent = {{slots / 2, 0, slots + 5}}},
             {.kind = Kind::kAllGather, .sent = {{7, slots, slot}}, .in_place = true},
             {.kind = Kind::kAllGather, .sent = {{0, slots + slot, 0}}},  // a broadcast
             {.kind = Kind::kReduceScatter, .sent = {{slots / 2, 11, slots}}},
             {.kind = Kind::kAllToAll,
             .sent = {{0, slot, 5}, {slots / 2, 3, 0}, {slots, slots / 3, 1}}}}) {
      test::Case<std::int32_t> one(*devices, task), other(*devices, task);
      for (const int round : {1, 2}) {
        one.run(round);
        other.run(round + 2);
      }
    }
  });
}
