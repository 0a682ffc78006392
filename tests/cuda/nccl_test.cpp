// Collectives of GPU devices by NCCL, threads as their devices: the contract of every communicator
// but for the order of sums, and what becomes of a device that is lost. Each device has a GPU of
// its own, which is emulated: of threads with real ones, one may wait for all GPUs of the process
// where NCCL's kernels wait for it. Ranks, and whole trainings, are tried by tests/mpi.
#include "comm/nccl_communicator.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "comm/contract.h"
#include "comm/contract_case.h"
#include "comm/hosted_communicator.h"
#include "comm/thread.h"
#include "cuda/gpu_member.h"
#include "device/cuda_device.h"
#include "support/errors.h"

using namespace meshwork;

namespace {

using Kind = CollectiveCall::Kind;

/// Numbers of devices to be tried, up to that of GPUs.
std::vector<int> sizes(std::vector<int> wanted) {
  const int most = gpus()[0].name == "Emulated GPU" ? gpu_count() : 0;
  std::erase_if(wanted, [&](int devices) { return devices > most; });
  return wanted;
}

struct Member : test::GpuMember {
  explicit Member(World& world)
      : GpuMember(world.hosts->rank(), nccl_communicator(world.devices, world.hosts->rank())) {}
};

/// A sum of `count` floats, in place; its memory stays until nothing of it is on the stream.
struct Sum {
  Sum(Member& member, std::int64_t count) : Sum(member, *member.devices, count) {}
  Sum(Member& member, Communicator& group, std::int64_t count)
      : stream(*member.stream),
        memory(member.bring(std::vector<float>(static_cast<std::size_t>(count), 1.0F))),
        call(group.prepare({.send = memory.get(), .recv = memory.get(), .count = count}, stream)) {}
  ~Sum() { stream.drain(); }
  Sum(const Sum&) = delete;
  Sum& operator=(const Sum&) = delete;
  Stream& stream;
  std::shared_ptr<std::byte> memory;
  std::unique_ptr<PreparedCall> call;
};

}  // namespace

TEST_CASE("GPU devices keep the contract by NCCL, but for the order of sums") {
  for (const int devices : sizes({2, 3, 4, 5, 8})) {
    CAPTURE(devices);
    run_devices(devices, [](World& world) {
      const int gpu = world.hosts->rank();
      World mine{world.hosts, test::hosted_communicator(nccl_communicator(world.devices, gpu),
                                                        make_cuda_device(gpu, {}))};
      test::check_contract_but_sums(mine);
    });
  }
}

TEST_CASE("GPU devices by NCCL: a single one exchanges with itself alone") {
  run_devices(1, [](World& world) {
    World mine{world.hosts, test::hosted_communicator(nccl_communicator(world.devices, 0),
                                                      make_cuda_device(0, {}))};
    test::check_contract_but_sums(mine);
  });
}

TEST_CASE("GPU devices by NCCL: a maximum keeps NaN, infinities and signs, also in blocks") {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const int devices : sizes({2})) {
    run_devices(devices, [&](World& world) {
      Member member(world);
      const bool is_first = member.rank == 0;
      const auto send = member.bring(is_first ? std::vector<float>{nan, -inf, -1, 2, -0.5F, -nan}
                                              : std::vector<float>{1, inf, -2, -inf, -3, inf});
      for (const std::vector<std::int64_t>& counts :
           {std::vector<std::int64_t>{3, 3}, {4, 2}, {0, 6}}) {
        const auto recv = member.bring(std::vector<float>(6, 7.0F));
        const auto call = member.devices->prepare({.kind = Kind::kReduceScatter,
                                                   .send = send.get(),
                                                   .recv = recv.get(),
                                                   .reduction = Reduction::kMax,
                                                   .counts = counts},
                                                  *member.stream);
        for (int round = 0; round < 2; ++round) call->start();
        const std::vector<float> right{nan, inf, -1, 2, -0.5F, nan};
        const std::vector<float> mine = member.fetch(recv, 6);
        const std::int64_t begin = is_first ? 0 : counts[0];
        for (std::int64_t i = 0; i < counts[is_first ? 0 : 1]; ++i) {
          const float wanted = right[static_cast<std::size_t>(begin + i)];
          const float found = mine[static_cast<std::size_t>(i)];
          CHECK((found == wanted || (std::isnan(found) && std::isnan(wanted))));
        }
        member.stream->drain();
      }
    });
  }
}

TEST_CASE("GPU devices by NCCL: a call that is started again and again, unwatched") {
  for (const int devices : sizes({2, 4})) {
    run_devices(devices, [devices](World& world) {
      Member member(world);
      for (const std::int64_t count : {1, 20000}) {
        Sum sum(member, count);
        const int rounds = devices == 2 ? 20 : 10;
        for (int round = 0; round < rounds; ++round) sum.call->start();
        const std::vector<float> right(static_cast<std::size_t>(count),
                                       static_cast<float>(std::pow(devices, rounds)));
        CHECK(member.fetch(sum.memory, count) == right);
      }
    });
  }
}

TEST_CASE("GPU devices by NCCL that prepare different calls are found out") {
  for (const int devices : sizes({2})) {
    run_devices(devices, [](World& world) {
      Member member(world);
      const std::int64_t count = member.rank == 1 ? 8999 : 9000;
      CHECK_THROWS_AS(member.devices->prepare({.count = count}, *member.stream), CheckFailure);
      CHECK_THROWS_AS(member.devices->prepare({.count = 1}, test::immediate_stream()),
                      CheckFailure);
      world.hosts->barrier();
    });
  }
}

TEST_CASE("GPU devices by NCCL on one GPU are refused, with the way out") {
  const std::string error = test::error_of([] {
    run_devices(gpu_count() + 1, [](World& world) {
      nccl_communicator(world.devices, world.hosts->rank() % gpu_count());
    });
  });
  CHECK(error == fmt::format("2: collectives: nccl: devices 0 and {} share GPU 0, and NCCL needs a "
                             "GPU for each; take a mesh of no more devices than GPUs (--mesh), or "
                             "say collectives: canonical",
                             gpu_count()));
}

TEST_CASE("GPU devices by NCCL: one that is lost ends the calls of the others") {
  for (const int devices : sizes({2, 3, 4})) {
    for (const std::int64_t count : {10, 20000}) {
      for (int rounds = 0; rounds < 3; ++rounds) {
        const auto work = [&](World& world) {
          Member member(world);
          Sum sum(member, count);
          for (int round = 0;; ++round) {
            if (member.rank == 1 && round == rounds) throw std::invalid_argument("the cause");
            sum.call->start();
            member.fetch(sum.memory, count);
          }
        };
        CHECK_THROWS_WITH_AS(run_devices(devices, work), "the cause", std::invalid_argument);
      }
    }
  }
}

TEST_CASE("GPU devices by NCCL: two that are lost at different places leave nobody waiting") {
  for (const int devices : sizes({2, 4})) {
    const auto work = [&](World& world) {
      Member member(world);
      const int half = member.rank / 2 * 2;
      const auto pair = member.devices->group(std::vector<int>{half, half + 1});
      Sum all(member, 3000), two(member, *pair, 3000);
      for (int round = 0;; ++round) {
        if (round == 3 && member.rank == 0) throw std::invalid_argument("the cause");
        all.call->start();
        if (round == 3) throw std::invalid_argument("the cause");
        two.call->start();
      }
    };
    CHECK_THROWS_WITH_AS(run_devices(devices, work), "the cause", std::invalid_argument);
  }
}

TEST_CASE("GPU devices by NCCL: one that is lost while they connect ends it for all") {
  for (const int devices : sizes({2, 3})) {
    const auto work = [&](World& world) {
      Member member(world);
      if (member.rank == 1) throw std::invalid_argument("the cause");
      Sum sum(member, 10);
    };
    CHECK_THROWS_WITH_AS(run_devices(devices, work), "the cause", std::invalid_argument);
  }
}
