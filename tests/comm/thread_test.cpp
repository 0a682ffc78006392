#include "comm/thread.h"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "contract.h"

namespace meshwork {
namespace {

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A call that is prepared, run and dropped, buffers and all.
void reduce(Communicator& comm, std::int64_t count) {
  std::vector<float> data(static_cast<std::size_t>(count), 1.0F);
  test::run_once(comm, {.send = data.data(), .recv = data.data(), .count = count});
}

/// Calls of a size that is read from the others' buffers, until one throws.
void reduce_for_ever(Communicator& comm) {
  for (;;) reduce(comm, 20000);
}

std::string message_of(const std::function<void()>& work, ExitCode code) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("threads keep the contract") {
  for (const int devices : {1, 2, 3, 4, 6, 8}) {
    CAPTURE(devices);
    run_devices(devices, [&](World& world) {
      CHECK(world.devices->size() == devices);
      test::check_contract(world);
    });
  }
}

TEST_CASE("threads: a device that is lost between start and finish ends the calls of the others") {
  for (const int devices : {2, 3, 8}) {
    for (const std::int64_t count : {10, 20000}) {
      const auto work = [&](World& world) {
        // They go away with the device, while others are told to read and write them.
        std::vector<float> data(static_cast<std::size_t>(count), 1.0F);
        const auto call = world.devices->prepare(
            {.send = data.data(), .recv = data.data(), .count = count}, test::immediate_stream());
        for (int round = 0; round < 4; ++round) {
          call->start();
          if (world.hosts->rank() == 1 && round == 3) throw std::invalid_argument("the cause");
          if (world.hosts->rank() == 0) call->poll();
          call->wait();
        }
        call->start();
        call->wait();
      };
      CHECK_THROWS_WITH_AS(run_devices(devices, work), "the cause", std::invalid_argument);
    }
  }
}

TEST_CASE("threads: a device that ends early ends the prepared calls of the others") {
  const auto work = [](World& world) {
    float value = 1;
    const auto call = world.devices->prepare({.send = &value, .recv = &value, .count = 1},
                                             test::immediate_stream());
    if (world.hosts->rank() == 1) return;
    call->start();
    call->wait();
  };
  CHECK(message_of([&] { run_devices(2, work); }, ExitCode::kCommunication) ==
        "device 1 of 2 ended while others wait for it in a call");
}

TEST_CASE("threads: a device may go as soon as its part of the last call is done") {
  const auto work = [](World& world) {
    float value = 1;
    const auto call = world.devices->prepare({.send = &value, .recv = &value, .count = 1},
                                             test::immediate_stream());
    call->start();
    call->wait();
    CHECK(value == 12);
  };
  for (int i = 0; i < 6000; ++i) run_devices(12, work);
}

TEST_CASE("threads: many calls in a row") {
  for (const int devices : {2, 5}) {
    run_devices(devices, [](World& world) {
      test::check_repeated_calls(*world.devices, 3000);
      test::check_repeated_calls(*world.hosts, 3000);
    });
  }
}

TEST_CASE("threads: an exception ends the calls of all others and is the one rethrown") {
  for (const int devices : {2, 3, 8}) {
    for (int round = 0; round < 6; ++round) {
      // They wait for a call of devices, or for one of hosts.
      const auto call_for_ever = [&](World& world) {
        if (round % 2 == 0) reduce_for_ever(*world.devices);
        for (;;) gather(*world.hosts, 1);
      };
      std::atomic<int> secondary = 0;
      const double seconds = seconds_of([&] {
        CHECK_THROWS_WITH_AS(run_devices(devices,
                                         [&](World& world) {
                                           HostGroup& hosts = *world.hosts;
                                           if (hosts.rank() == devices - 1) {
                                             for (int i = 0; i < round; ++i) hosts.barrier();
                                             throw std::invalid_argument("the cause");
                                           }
                                           try {
                                             for (int i = 0; i < round; ++i) hosts.barrier();
                                             call_for_ever(world);
                                           } catch (const Error& error) {
                                             if (error.code() == ExitCode::kCommunication)
                                               ++secondary;
                                             throw;
                                           }
                                         }),
                             "the cause", std::invalid_argument);
      });
      CHECK(secondary == devices - 1);
      CHECK(seconds < 5);
    }
  }
}

TEST_CASE("threads: a failure while others read each other's buffers") {
  for (int round = 0; round < 20; ++round) {
    CHECK_THROWS_AS(run_devices(4,
                                [&](World& world) {
                                  if (world.hosts->rank() != 3) reduce_for_ever(*world.devices);
                                  for (int i = 0; i < round; ++i) reduce(*world.devices, 20000);
                                  world.hosts->abort(1);
                                }),
                    Error);
  }
}

TEST_CASE("threads: a failure reaches groups in which the failed one is not") {
  const std::string message = message_of(
      [] {
        run_devices(4, [](World& world) {
          const int first = world.hosts->rank() / 2 * 2;
          const int members[] = {first, first + 1};
          const auto pair = world.devices->group(members);
          if (world.hosts->rank() == 3) fail(ExitCode::kFile, "data/train.npy: no such file");
          reduce_for_ever(*pair);
        });
      },
      ExitCode::kFile);
  CHECK(message == "data/train.npy: no such file");
}

TEST_CASE("threads: a failure before others make a group") {
  CHECK_THROWS_WITH_AS(run_devices(3,
                                   [](World& world) {
                                     if (world.hosts->rank() == 2)
                                       throw std::runtime_error("early");
                                     std::this_thread::sleep_for(std::chrono::milliseconds(20));
                                     const int members[] = {0, 1};
                                     reduce_for_ever(*world.devices->group(members));
                                   }),
                       "early", std::runtime_error);
}

TEST_CASE("threads: abort gives its exit code to the run and an Error to the others") {
  std::atomic<int> seen = 0;
  const std::string message = message_of(
      [&] {
        run_devices(3, [&](World& world) {
          if (world.hosts->rank() == 1) return world.hosts->abort(75);
          const std::string text =
              message_of([&] { reduce_for_ever(*world.devices); }, ExitCode::kCommunication);
          if (text == "device 1 of 3 failed or ended the job (exit code 75)") ++seen;
          const std::string again =
              message_of([&] { world.hosts->barrier(); }, ExitCode::kCommunication);
          if (again == text) ++seen;
        });
      },
      static_cast<ExitCode>(75));
  CHECK(message == "device 1 of 3 ended the job with exit code 75");
  CHECK(seen == 4);
}

TEST_CASE("threads: abort by a device that is alone in its group ends the whole job") {
  const std::string message = message_of(
      [] {
        run_devices(2, [](World& world) {
          if (world.hosts->rank() == 1) reduce_for_ever(*world.devices);
          const int alone[] = {0};
          reduce(*world.devices->group(alone), 100);
          world.hosts->abort(3);
        });
      },
      ExitCode::kFile);
  CHECK(message == "device 0 of 2 ended the job with exit code 3");
}

TEST_CASE("threads: who waits for a device that has ended is told so") {
  const std::string message = message_of(
      [] {
        run_devices(4, [](World& world) {
          if (world.hosts->rank() != 2) world.hosts->barrier();
        });
      },
      ExitCode::kCommunication);
  CHECK(message == "device 2 of 4 ended while others wait for it in a call");
}

TEST_CASE("threads: a device may end while others that do not need it go on") {
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  run_devices(3, [&](World& world) {
    if (world.hosts->rank() == 2) return end.set_value_at_thread_exit();
    const int members[] = {0, 1};
    const auto pair = world.devices->group(members);
    CHECK(ended.wait_for(std::chrono::minutes(1)) == std::future_status::ready);
    test::check_repeated_calls(*pair, 50);
  });
}

TEST_CASE("threads: devices that prepare different calls are found out") {
  using Kind = CollectiveCall::Kind;
  const auto mismatch = [](const CollectiveCall& first, const CollectiveCall& odd) {
    const auto work = [&](World& world) {
      // All are told before any buffer is touched, so nobody is left waiting.
      CHECK_THROWS_AS(test::run_once(*world.devices, world.hosts->rank() == 1 ? odd : first),
                      CheckFailure);
      world.hosts->barrier();
      reduce(*world.devices, 5000);
    };
    run_devices(3, work);
  };
  const CollectiveCall first{.count = 9000};
  mismatch(first, {.count = 8999});
  mismatch(first, {.dtype = DType::kInt32, .count = 9000});
  mismatch(first, {.reduction = Reduction::kMax, .count = 9000});
  mismatch(first, {.count = 9000, .purpose = "dense"});
  mismatch(first, {.kind = Kind::kReduceScatter, .counts = {3000, 3000, 3000}});
  const CollectiveCall gather{.kind = Kind::kAllGather, .counts = {2, 3, 4}};
  mismatch(gather, {.kind = Kind::kReduceScatter, .counts = {2, 3, 4}});
  mismatch(gather, {.kind = Kind::kAllGather, .counts = {2, 4, 3}});
  const CollectiveCall exchange{
      .kind = Kind::kAllToAll, .counts = {1, 1, 1}, .recv_counts = {1, 1, 1}};
  mismatch(exchange, {.kind = Kind::kAllToAll, .counts = {1, 1, 1}, .recv_counts = {1, 1, 2}});
  mismatch(exchange, {.kind = Kind::kAllToAll, .counts = {2, 1, 1}, .recv_counts = {1, 1, 1}});
}

TEST_CASE("threads: hosts that make different calls are found out") {
  using HostCall = std::function<void(HostGroup&)>;
  const auto mismatch = [](const HostCall& first, const HostCall& odd) {
    run_devices(3, [&](World& world) {
      HostGroup& hosts = *world.hosts;
      CHECK_THROWS_AS(hosts.rank() == 1 ? odd(hosts) : first(hosts), CheckFailure);
      hosts.barrier();
    });
  };
  std::array<std::array<std::byte, 64>, 3> data{};
  const auto place = [&](HostGroup& hosts) {
    return data[static_cast<std::size_t>(hosts.rank())].data();
  };
  const HostCall all_gather = [&](HostGroup& hosts) {
    hosts.all_gather(place(hosts), 8, place(hosts) + 8);
  };
  const HostCall broadcast = [&](HostGroup& hosts) { hosts.broadcast(place(hosts), 8, 0); };
  mismatch(all_gather, [](HostGroup& hosts) { hosts.barrier(); });
  mismatch(all_gather, broadcast);
  mismatch(all_gather, [&](HostGroup& hosts) { hosts.all_gather(place(hosts), 7, place(hosts)); });
  mismatch(broadcast, [&](HostGroup& hosts) { hosts.broadcast(place(hosts), 7, 0); });
  mismatch(broadcast, [&](HostGroup& hosts) { hosts.broadcast(place(hosts), 8, 2); });
}

TEST_CASE("threads: a world is given to each rank once") {
  ThreadWorld devices(2);
  const World first = devices.world(0);
  CHECK_THROWS_AS(devices.world(0), CheckFailure);
  CHECK_THROWS_AS(devices.world(2), CheckFailure);
  std::thread other([world = devices.world(1)] { test::check_host_group(*world.hosts); });
  test::check_host_group(*first.hosts);
  other.join();
}

TEST_CASE("threads: calls wake sleepers, whatever the number of devices") {
  // Members that come late by far find the others asleep, not spinning.
  const double seconds = seconds_of([] {
    run_devices(4, [](World& world) {
      for (int i = 0; i < 8; ++i) {
        if (world.hosts->rank() == i % 4) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        world.hosts->barrier();
        reduce(*world.devices, 100);
      }
    });
  });
  CHECK(seconds < 2);
}

}  // namespace meshwork
