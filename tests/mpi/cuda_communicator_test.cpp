// Collectives of ranks on memory of GPUs: they open each other's, or where they cannot go through
// their hosts.
#include "comm/cuda_communicator.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "base/check.h"
#include "comm/blocks.h"
#include "comm/contract.h"
#include "comm/hosted_communicator.h"
#include "device/cuda_device.h"
#include "support/mpi_world.h"

using namespace meshwork;

namespace {

/// Whether this launch lets processes open what others share.
bool are_together() {
  const char* const ipc = std::getenv("EMULATED_GPU_IPC");
  return ipc == nullptr || std::string(ipc).empty();
}

int gpu_of(const World& world) { return world.hosts->rank() % gpu_count(); }

/// The ranks, each as if it were on that machine.
World gpus_on(std::int64_t machine) {
  const World& ranks = test::mpi_world();
  const int gpu = gpu_of(ranks);
  return {ranks.hosts, test::hosted_communicator(cuda_communicator(ranks.devices, gpu, machine),
                                                 make_cuda_device(gpu, {}))};
}

/// Hosts, and whether any data of devices went through them.
class WatchedHosts final : public Communicator {
 public:
  WatchedHosts(std::shared_ptr<Communicator> hosts, bool& had_data)
      : hosts_(std::move(hosts)), had_data_(had_data) {}
  int rank() const override { return hosts_->rank(); }
  int size() const override { return hosts_->size(); }
  std::unique_ptr<Communicator> group(std::span<const int> members) override {
    return std::make_unique<WatchedHosts>(hosts_->group(members), had_data_);
  }
  std::unique_ptr<PreparedCall> prepare(const CollectiveCall& call, Stream& stream) override {
    had_data_ = had_data_ || call.dtype == DType::kFloat32;
    return hosts_->prepare(call, stream);
  }
  std::shared_ptr<std::byte> allocate(std::int64_t bytes) override {
    return hosts_->allocate(bytes);
  }

 private:
  std::shared_ptr<Communicator> hosts_;
  bool& had_data_;
};

/// The devices of all ranks, whose hosts are watched.
struct Watched {
  explicit Watched(std::int64_t machine = 1)
      : device(make_cuda_device(gpu, {})),
        devices(cuda_communicator(
            std::make_shared<WatchedHosts>(test::mpi_world().devices, had_data), gpu, machine)) {}
  ~Watched() { stream->drain(); }

  /// Whether the sum of so many ones in `memory` goes through the hosts.
  bool goes_through_hosts(Communicator& members, std::int64_t count, std::byte* memory) {
    const std::vector<float> ones(static_cast<std::size_t>(count), 1.0F);
    const auto bytes = static_cast<std::int64_t>(bytes_of(count, DType::kFloat32));
    upload(*device, *stream, memory, ones.data(), bytes);
    had_data = false;
    const auto call = members.prepare({.send = memory, .recv = memory, .count = count}, *stream);
    call->start();
    call->start();
    std::vector<float> sums(ones.size());
    download(*device, *stream, sums.data(), memory, bytes);
    const auto size = static_cast<float>(members.size());
    CHECK(sums == std::vector<float>(sums.size(), size * size));
    return had_data;
  }

  int gpu = gpu_of(test::mpi_world());
  bool had_data = false;
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream = make_cuda_device(gpu, {})->make_stream();
  std::shared_ptr<Communicator> devices;
};

}  // namespace

TEST_CASE("ranks with GPUs keep the contract") {
  World gpus = gpus_on(1);
  test::check_contract_in_order(gpus);
}

TEST_CASE("ranks of several machines, two on each, keep the contract") {
  const int rank = test::mpi_world().hosts->rank(), size = test::mpi_world().hosts->size();
  World gpus = gpus_on(size > 2 ? rank / 2 : rank);
  test::check_all_reduce(*gpus.devices);
  test::check_groups(gpus);
}

TEST_CASE("ranks on a machine reach memory that they were given, and all that is small") {
  constexpr std::int64_t kSmall = 1000, kLarge = 100000;
  Watched ranks;
  const auto given = ranks.devices->allocate(4 * kLarge);
  const auto other = ranks.device->allocate(4 * kLarge);
  REQUIRE(given != nullptr);
  CHECK(ranks.goes_through_hosts(*ranks.devices, kLarge, given.get()) == !are_together());
  CHECK(ranks.goes_through_hosts(*ranks.devices, kSmall, other.get()) == !are_together());
  CHECK(ranks.goes_through_hosts(*ranks.devices, kLarge, other.get()));
}

TEST_CASE("ranks on several machines reach those on theirs") {
  constexpr std::int64_t kLarge = 100000;
  const int rank = test::mpi_world().hosts->rank(), size = test::mpi_world().hosts->size();
  Watched ranks(rank / 2);
  const auto given = ranks.devices->allocate(4 * kLarge);
  CHECK(ranks.goes_through_hosts(*ranks.devices, kLarge, given.get()) ==
        (size > 2 || !are_together()));
  std::vector<int> near{rank / 2 * 2};
  if (near[0] + 1 < size) near.push_back(near[0] + 1);
  const auto group = ranks.devices->group(near);
  CHECK(ranks.goes_through_hosts(*group, kLarge, given.get()) ==
        (near.size() > 1 && !are_together()));
}

TEST_CASE("ranks on a machine have any number of calls, and take turns among them") {
  constexpr std::int64_t kCalls = 90, kLarge = 20000;
  Watched ranks;
  // The last one reads the others' buffers.
  const auto memory = ranks.devices->allocate(4 * (kCalls + kLarge));
  const auto given = memory != nullptr ? memory : ranks.device->allocate(4 * (kCalls + kLarge));
  const std::vector<float> ones(kCalls + kLarge, 1.0F);
  upload(*ranks.device, *ranks.stream, given.get(), ones.data(), 4 * std::ssize(ones));
  std::vector<std::unique_ptr<PreparedCall>> calls;
  for (std::int64_t i = 0; i <= kCalls; ++i) {
    std::byte* const place = given.get() + 4 * i;
    calls.push_back(ranks.devices->prepare(
        {.send = place, .recv = place, .count = i < kCalls ? 1 : kLarge}, *ranks.stream));
  }
  CHECK(ranks.had_data == !are_together());
  for (const auto& call : calls) call->start();
  for (std::size_t i = 0; i < calls.size(); ++i) calls[i * 4 % calls.size()]->start();
  const auto size = static_cast<float>(ranks.devices->size());
  std::vector<float> sums(ones.size());
  download(*ranks.device, *ranks.stream, sums.data(), given.get(), 4 * std::ssize(sums));
  CHECK(sums == std::vector<float>(sums.size(), size * size));
}

TEST_CASE("what ranks share is given back") {
  if (gpus()[0].name != "Emulated GPU") return;
  struct Held {
    std::int64_t available = 0;
    std::ptrdiff_t files = 0;  ///< of memory that is open
    bool operator==(const Held&) const = default;
  };
  const auto held_after_use = [] {
    {
      Watched ranks;
      const auto memory = ranks.devices->allocate(400000);
      ranks.goes_through_hosts(*ranks.devices, 100000, memory.get());
      ranks.goes_through_hosts(*ranks.devices, 10, memory.get());
    }
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return Held{gpu_memory(*make_cuda_device(0, {}))->available,
                std::distance(begin(files), end(files))};
  };
  const Held first = held_after_use();
  CHECK(held_after_use() == first);
}

TEST_CASE("ranks that prepare different calls are found out") {
  Watched ranks;
  const std::int64_t count = test::mpi_world().hosts->rank() == 1 ? 8999 : 9000;
  if (are_together()) {
    CHECK_THROWS_AS(ranks.devices->prepare({.count = count}, *ranks.stream), CheckFailure);
    const std::string purpose = test::mpi_world().hosts->rank() == 1 ? "dense" : "dense_1";
    CHECK_THROWS_AS(ranks.devices->prepare({.count = 9000, .purpose = purpose}, *ranks.stream),
                    CheckFailure);
  }
}
