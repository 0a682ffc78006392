// Collectives on memory of GPUs, threads as their devices: the contract of every communicator, and
// what becomes of a call that loses a member.
#include "comm/cuda_communicator.h"

#include <doctest/doctest.h>

#include <bit>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>

#include "backend/backend.h"
#include "base/check.h"
#include "base/error.h"
#include "comm/contract.h"
#include "comm/contract_case.h"
#include "comm/hosted_communicator.h"
#include "comm/thread.h"
#include "cuda/gpu_member.h"
#include "device/cuda/stream.h"
#include "device/cuda_device.h"
#include "device/tree_sum.h"
#include "support/errors.h"

using namespace meshwork;
using meshwork::test::hosted_communicator;

namespace {

using Kind = CollectiveCall::Kind;

/// Devices go round the GPUs.
int gpu_of(const World& world, int gpus = gpu_count()) { return world.hosts->rank() % gpus; }

/// The contract on so many devices, on so many GPUs.
void check_contract(int devices, int gpus) {
  CAPTURE(devices);
  CAPTURE(gpus);
  run_devices(devices, [&](World& world) {
    const int gpu = gpu_of(world, gpus);
    World mine{world.hosts, hosted_communicator(cuda_communicator(world.devices, gpu),
                                                make_cuda_device(gpu, {}))};
    CHECK(mine.devices->size() == devices);
    test::check_contract_in_order(mine);
  });
}

struct Member : test::GpuMember {
  explicit Member(World& world) : Member(world, world.devices) {}
  Member(World& world, std::shared_ptr<Communicator> hosts)
      : GpuMember(gpu_of(world), cuda_communicator(std::move(hosts), gpu_of(world))) {}
};

/// Hosts that do something in their n-th meeting (Hosts::meet), before it or after it.
class WatchedHosts final : public Communicator {
 public:
  using Watch = std::function<void(int meeting, bool is_over)>;

  WatchedHosts(std::shared_ptr<Communicator> hosts, Watch watch)
      : hosts_(std::move(hosts)), watch_(std::move(watch)) {}
  int rank() const override { return hosts_->rank(); }
  int size() const override { return hosts_->size(); }
  std::unique_ptr<Communicator> group(std::span<const int> members) override {
    return hosts_->group(members);
  }
  std::unique_ptr<PreparedCall> prepare(const CollectiveCall& call, Stream& stream) override {
    auto prepared = hosts_->prepare(call, stream);
    if (has_meeting_) return prepared;
    has_meeting_ = true;  // is prepared before all others
    return std::make_unique<Meeting>(std::move(prepared), watch_);
  }
  std::shared_ptr<std::byte> allocate(std::int64_t /*bytes*/) override { return nullptr; }

 private:
  class Meeting final : public PreparedCall {
   public:
    Meeting(std::unique_ptr<PreparedCall> call, Watch watch)
        : call_(std::move(call)), watch_(std::move(watch)) {}
    void start() override {
      watch_(++number_, false);
      call_->start();
    }
    bool poll() override { return call_->poll(); }
    void wait(std::span<PreparedCall* const> beside) override {
      call_->wait(beside);
      watch_(number_, true);
    }

   private:
    std::unique_ptr<PreparedCall> call_;
    Watch watch_;
    int number_ = 0;
  };

  std::shared_ptr<Communicator> hosts_;
  Watch watch_;
  bool has_meeting_ = false;
};

/// Any bits: all numbers, infinities, NaN, and zeros and numbers below the normal range more often
/// than they come by chance.
std::vector<float> any_floats(int rank, std::int64_t count) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t bits = test::hash(rank, i, 1);
    if (bits % 7 == 0) bits &= 0x807fffffU;
    if (bits % 11 == 0) bits |= 0x7f800000U;
    if (bits % 13 == 0) bits &= 0xff800000U;
    values.push_back(std::bit_cast<float>(bits));
  }
  return values;
}

/// The bits of a number; of NaN there is one, and below the normal range there is zero.
std::uint32_t bits_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return 0x7fc00000U;
  return (bits & 0x7f800000U) == 0 ? bits & 0x80000000U : bits;
}

/// An all-reduce of any floats against that of the CPU, where they flush like its kernels.
void check_any_floats(Member& member, std::int64_t count, Reduction reduction) {
  const auto cpu = make_cpu_backend(1);
  const int size = member.devices->size();
  std::vector<std::vector<float>> all;
  std::vector<const void*> inputs;
  for (int rank = 0; rank < size; ++rank) all.push_back(any_floats(rank, count));
  for (const auto& values : all) inputs.push_back(values.data());
  std::vector<float> right(static_cast<std::size_t>(count));
  tree_reduce(inputs, right.data(), count, DType::kFloat32, reduction);
  const auto memory = member.bring(all[static_cast<std::size_t>(member.rank)]);
  const auto call = member.devices->prepare(
      {.send = memory.get(), .recv = memory.get(), .reduction = reduction, .count = count},
      *member.stream);
  call->start();
  const std::vector<float> mine = member.fetch(memory, count);
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < mine.size(); ++i)
    wrong += bits_of(mine[i]) != bits_of(right[i]) ? 1 : 0;
  CHECK(wrong == 0);
}

/// A call of `count` floats, in place.
struct Sum {
  Sum(Member& member, std::int64_t count)
      : memory(member.bring(std::vector<float>(static_cast<std::size_t>(count), 1.0F))),
        call(member.devices->prepare({.send = memory.get(), .recv = memory.get(), .count = count},
                                     *member.stream)) {}
  std::shared_ptr<std::byte> memory;
  std::unique_ptr<PreparedCall> call;
};

}  // namespace

TEST_CASE("GPU devices keep the contract") {
  for (const int devices : {1, 2, 3, 4, 5, 8}) check_contract(devices, gpu_count());
}

TEST_CASE("GPU devices that share a GPU keep the contract") {
  for (const int devices : {2, 3, 4}) check_contract(devices, 1);
}

TEST_CASE("GPU devices reduce any floats to the bits of the CPU") {
  for (const int devices : {2, 3, 5, 8}) {
    CAPTURE(devices);
    run_devices(devices, [&](World& world) {
      Member member(world);
      for (const std::int64_t count : {1001, 20003}) {
        for (const Reduction reduction : {Reduction::kSum, Reduction::kMax}) {
          check_any_floats(member, count, reduction);
        }
      }
    });
  }
}

TEST_CASE("GPU devices: blocks that engines copy") {
  run_devices(3, [](World& world) {
    Member member(world);
    // 5 MB and 1 MB.
    const std::vector<std::int64_t> counts{1250000, 0, 250000};
    const auto mine = test::values<std::int32_t>(member.rank, 0,
                                                 counts[static_cast<std::size_t>(member.rank)], 1);
    std::vector<std::int32_t> right;
    for (int rank = 0; rank < 3; ++rank) {
      const auto block =
          test::values<std::int32_t>(rank, 0, counts[static_cast<std::size_t>(rank)], 1);
      right.insert(right.end(), block.begin(), block.end());
    }
    const std::int64_t all = std::ssize(right);
    const auto send = member.bring(mine);
    const auto recv = member.device->allocate(all * std::int64_t{sizeof(std::int32_t)});
    const auto call = member.devices->prepare({.kind = Kind::kAllGather,
                                               .send = send.get(),
                                               .recv = recv.get(),
                                               .dtype = DType::kInt32,
                                               .counts = counts},
                                              *member.stream);
    call->start();
    CHECK(member.fetch<std::int32_t>(recv, all) == right);
  });
}

TEST_CASE("GPU devices: a call that is started again and again, unwatched") {
  run_devices(4, [](World& world) {
    Member member(world);
    for (const std::int64_t count : {100, 20000}) {
      Sum sum(member, count);
      for (int round = 0; round < 12; ++round) sum.call->start();
      const std::vector<float> right(static_cast<std::size_t>(count), static_cast<float>(1 << 24));
      CHECK(member.fetch(sum.memory, count) == right);
    }
  });
}

TEST_CASE("GPU devices: a call that goes away before its kernels have run") {
  constexpr std::int64_t kBytes = std::int64_t{32} << 20U;
  run_devices(2, [](World& world) {
    std::function<void()> before_share = [] {};
    const auto watch = [&](int /*meeting*/, bool is_over) {
      if (is_over) before_share();
    };
    Member member(world, std::make_shared<WatchedHosts>(world.devices, watch));
    const auto from = member.device->allocate(kBytes), to = member.device->allocate(kBytes);
    Sum sum(member, 10);
    // Device 1 reads the slots late, when device 0 has let go of them.
    if (member.rank == 1) {
      before_share = [&] {
        auto& stream = cuda::cuda_stream(*member.stream);
        for (int i = 0; i < 50; ++i) stream.copy(to.get(), from.get(), kBytes);
      };
    }
    sum.call->start();
    if (member.rank == 0) sum.call.reset();
    world.hosts->barrier();
    sum.call.reset();
    CHECK(member.fetch(sum.memory, 10) == std::vector<float>(10, 2.0F));
  });
}

TEST_CASE("GPU devices that prepare or start different calls are found out") {
  const auto mismatch = [](const CollectiveCall& first, const CollectiveCall& odd) {
    run_devices(3, [&](World& world) {
      Member member(world);
      CHECK_THROWS_AS(
          member.devices->prepare(world.hosts->rank() == 1 ? odd : first, *member.stream),
          CheckFailure);
      world.hosts->barrier();
    });
  };
  const CollectiveCall first{.count = 9000};
  mismatch(first, {.count = 8999});
  mismatch(first, {.dtype = DType::kInt32, .count = 9000});
  mismatch(first, {.reduction = Reduction::kMax, .count = 9000});
  mismatch(first, {.kind = Kind::kReduceScatter, .counts = {3000, 3000, 3000}});
  const CollectiveCall gather{.kind = Kind::kAllGather, .counts = {2, 3, 4}};
  mismatch(gather, {.kind = Kind::kAllGather, .counts = {2, 4, 3}});
  const CollectiveCall exchange{
      .kind = Kind::kAllToAll, .counts = {1, 1, 1}, .recv_counts = {1, 1, 1}};
  mismatch(exchange, {.kind = Kind::kAllToAll, .counts = {1, 1, 1}, .recv_counts = {1, 1, 2}});
  run_devices(2, [](World& world) {
    Member member(world);
    Sum one(member, 20000), other(member, 20000);
    CHECK_THROWS_AS((world.hosts->rank() == 0 ? one : other).call->start(), CheckFailure);
    world.hosts->barrier();
  });
}

TEST_CASE("GPU devices: what makes no sense is refused before anyone waits") {
  run_devices(2, [](World& world) {
    Member member(world);
    const auto refused = [&](const CollectiveCall& call, Stream& stream) {
      CHECK_THROWS_AS(member.devices->prepare(call, stream), CheckFailure);
    };
    refused({}, test::immediate_stream());
    refused({.dtype = DType::kUInt8}, *member.stream);
    refused({.count = -1}, *member.stream);
    refused({.kind = Kind::kAllGather, .counts = {1}}, *member.stream);
  });
}

TEST_CASE("GPU devices: one that is lost ends the calls of the others") {
  for (const int devices : {2, 3, 8}) {
    for (const std::int64_t count : {10, 20000}) {
      for (int rounds = 0; rounds < 3; ++rounds) {
        const auto work = [&](World& world) {
          Member member(world);
          Sum sum(member, count);
          for (int round = 0;; ++round) {
            if (member.rank == 1 && round == rounds) throw std::invalid_argument("the cause");
            sum.call->start();
          }
        };
        CHECK_THROWS_WITH_AS(run_devices(devices, work), "the cause", std::invalid_argument);
      }
    }
  }
}

TEST_CASE("GPU devices: one that is lost within a call leaves no buffers that others are at") {
  // They meet once to prepare a call and twice in each round of it.
  constexpr int kFirst = 4, kSecond = 5;
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  const auto lost = [&](int rank, int meeting, bool is_over) {
    if (meeting == kFirst && is_over && rank == 1) throw std::invalid_argument("before its share");
    if (meeting == kFirst && is_over) pause();  // it has left before others do their share
  };
  const auto lost_later = [&](int rank, int meeting, bool is_over) {
    if (meeting != kSecond || is_over || rank != 1) return;
    pause();  // others have enqueued theirs
    throw std::invalid_argument("after its share");
  };
  const auto run = [](const std::function<void(int, int, bool)>& watch) {
    run_devices(3, [&](World& world) {
      const int rank = world.hosts->rank();
      Member member(world, std::make_shared<WatchedHosts>(world.devices,
                                                          [&, rank](int meeting, bool is_over) {
                                                            watch(rank, meeting, is_over);
                                                          }));
      Sum sum(member, 200000);
      for (;;) sum.call->start();
    });
  };
  CHECK_THROWS_WITH_AS(run(lost), "before its share", std::invalid_argument);
  CHECK_THROWS_WITH_AS(run(lost_later), "after its share", std::invalid_argument);
}

// In a process of its own, where the emulated GPU fails: EMULATED_GPU_FAIL_LAUNCH=40.
TEST_CASE("GPU devices: a GPU that fails ends the calls of all" * doctest::skip()) {
  const std::string error = test::error_of([] {
    run_devices(4, [](World& world) {
      Member member(world);
      Sum small(member, 10), large(member, 20000);
      for (;;) {
        small.call->start();
        large.call->start();
        member.fetch(large.memory, 20000);
      }
    });
  });
  CHECK(error.starts_with("4: device cuda: "));
  CHECK(test::contains(error, "CUDA_ERROR_ILLEGAL_ADDRESS"));
}
