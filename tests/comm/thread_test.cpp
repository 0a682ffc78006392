#include "comm/thread.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
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

/// Calls of a size that is read from the others' buffers, until one throws.
void reduce_for_ever(Communicator& comm) {
  for (;;) {
    std::vector<float> data(20000, 1.0F);
    comm.all_reduce(data.data(), data.data(), 20000, DType::kFloat32, Reduction::kSum);
  }
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
    run_devices(devices, [&](Communicator& comm) {
      CHECK(comm.size() == devices);
      test::check_contract(comm);
    });
  }
}

TEST_CASE("threads: a device that is lost between start and finish ends the calls of the others") {
  for (const int devices : {2, 3, 8}) {
    for (const std::int64_t count : {10, 20000}) {
      const auto work = [&](Communicator& comm) {
        // They go away with the device, while others are told to read and write them.
        std::vector<float> data(static_cast<std::size_t>(count), 1.0F);
        const auto call = comm.prepare({.send = data.data(), .recv = data.data(), .count = count});
        for (int round = 0; round < 4; ++round) {
          call->start();
          if (comm.rank() == 1 && round == 3) throw std::invalid_argument("the cause");
          if (comm.rank() == 0) call->poll();
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
  const auto work = [](Communicator& comm) {
    float value = 1;
    const auto call = comm.prepare({.send = &value, .recv = &value, .count = 1});
    if (comm.rank() == 1) return;
    call->start();
    call->wait();
  };
  CHECK(message_of([&] { run_devices(2, work); }, ExitCode::kCommunication) ==
        "device 1 of 2 ended while others wait for it in a call");
}

TEST_CASE("threads: calls that do not fit together are found when they are prepared") {
  const auto work = [](Communicator& comm) {
    float value = 1;
    comm.prepare({.send = &value, .recv = &value, .count = comm.rank()});
  };
  CHECK_THROWS_AS(run_devices(2, work), CheckFailure);
}

TEST_CASE("threads: many calls in a row") {
  for (const int devices : {2, 5}) {
    run_devices(devices, [](Communicator& comm) { test::check_repeated_calls(comm, 3000); });
  }
}

TEST_CASE("threads: an exception ends the calls of all others and is the one rethrown") {
  for (const int devices : {2, 3, 8}) {
    for (int round = 0; round < 5; ++round) {
      std::atomic<int> secondary = 0;
      const double seconds = seconds_of([&] {
        CHECK_THROWS_WITH_AS(run_devices(devices,
                                         [&](Communicator& comm) {
                                           if (comm.rank() == devices - 1) {
                                             for (int i = 0; i < round; ++i) comm.barrier();
                                             throw std::invalid_argument("the cause");
                                           }
                                           try {
                                             for (int i = 0; i < round; ++i) comm.barrier();
                                             reduce_for_ever(comm);
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
                                [&](Communicator& comm) {
                                  if (comm.rank() != 3) reduce_for_ever(comm);
                                  for (int i = 0; i < round; ++i) {
                                    std::vector<float> data(20000, 1.0F);
                                    comm.all_reduce(data.data(), data.data(), 20000,
                                                    DType::kFloat32, Reduction::kSum);
                                  }
                                  comm.abort(1);
                                }),
                    Error);
  }
}

TEST_CASE("threads: a failure reaches groups in which the failed one is not") {
  const std::string message = message_of(
      [] {
        run_devices(4, [](Communicator& comm) {
          const int first = comm.rank() / 2 * 2;
          const int members[] = {first, first + 1};
          const auto pair = comm.group(members);
          if (comm.rank() == 3) fail(ExitCode::kFile, "data/train.npy: no such file");
          reduce_for_ever(*pair);
        });
      },
      ExitCode::kFile);
  CHECK(message == "data/train.npy: no such file");
}

TEST_CASE("threads: a failure before others make a group") {
  CHECK_THROWS_WITH_AS(run_devices(3,
                                   [](Communicator& comm) {
                                     if (comm.rank() == 2) throw std::runtime_error("early");
                                     std::this_thread::sleep_for(std::chrono::milliseconds(20));
                                     const int members[] = {0, 1};
                                     reduce_for_ever(*comm.group(members));
                                   }),
                       "early", std::runtime_error);
}

TEST_CASE("threads: abort gives its exit code to the run and an Error to the others") {
  std::atomic<int> seen = 0;
  const std::string message = message_of(
      [&] {
        run_devices(3, [&](Communicator& comm) {
          if (comm.rank() == 1) return comm.abort(75);
          const std::string text =
              message_of([&] { reduce_for_ever(comm); }, ExitCode::kCommunication);
          if (text == "device 1 of 3 failed or ended the job (exit code 75)") ++seen;
          const std::string again = message_of([&] { comm.barrier(); }, ExitCode::kCommunication);
          if (again == text) ++seen;
        });
      },
      ExitCode::kStopped);
  CHECK(message == "device 1 of 3 ended the job with exit code 75");
  CHECK(seen == 4);
}

TEST_CASE("threads: abort of a group of one ends the whole job") {
  const std::string message = message_of(
      [] {
        run_devices(2, [](Communicator& comm) {
          if (comm.rank() == 1) reduce_for_ever(comm);
          const int alone[] = {0};
          comm.group(alone)->abort(3);
        });
      },
      ExitCode::kFile);
  CHECK(message == "device 0 of 2 ended the job with exit code 3");
}

TEST_CASE("threads: who waits for a device that has ended is told so") {
  const std::string message = message_of(
      [] {
        run_devices(4, [](Communicator& comm) {
          if (comm.rank() != 2) comm.barrier();
        });
      },
      ExitCode::kCommunication);
  CHECK(message == "device 2 of 4 ended while others wait for it in a call");
}

TEST_CASE("threads: a device may end while others that do not need it go on") {
  run_devices(3, [](Communicator& comm) {
    if (comm.rank() == 0) return;
    const int members[] = {1, 2};
    const auto pair = comm.group(members);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    test::check_repeated_calls(*pair, 50);
  });
}

TEST_CASE("threads: different calls are found out") {
  const auto mismatch = [](const std::function<void(Communicator&)>& odd) {
    CHECK_THROWS_AS(run_devices(3,
                                [&](Communicator& comm) {
                                  std::vector<float> data(9000, 1.0F);
                                  if (comm.rank() == 1) return odd(comm);
                                  comm.all_reduce(data.data(), data.data(), 9000, DType::kFloat32,
                                                  Reduction::kSum);
                                }),
                    CheckFailure);
  };
  mismatch([](Communicator& comm) { comm.barrier(); });
  mismatch([](Communicator& comm) {
    std::vector<float> data(8999);
    comm.all_reduce(data.data(), data.data(), 8999, DType::kFloat32, Reduction::kSum);
  });
  mismatch([](Communicator& comm) {
    std::vector<float> data(9000);
    comm.all_reduce(data.data(), data.data(), 9000, DType::kFloat32, Reduction::kMax);
  });
  CHECK_THROWS_AS(run_devices(2,
                              [](Communicator& comm) {
                                const std::vector<std::int64_t> send{1, 1};
                                const std::vector<std::int64_t> recv{1, 1 + comm.rank()};
                                std::vector<float> data(8);
                                comm.all_to_all(data.data(), send, data.data() + 4, recv,
                                                DType::kFloat32);
                              }),
                  CheckFailure);
}

TEST_CASE("threads: a world gives each rank one communicator") {
  ThreadWorld world(2);
  const auto first = world.communicator(0);
  CHECK_THROWS_AS(world.communicator(0), CheckFailure);
  CHECK_THROWS_AS(world.communicator(2), CheckFailure);
  std::thread other([comm = world.communicator(1)] { test::check_broadcast(*comm); });
  test::check_broadcast(*first);
  other.join();
}

TEST_CASE("threads: calls wake sleepers, whatever the number of devices") {
  // Members that come late by far find the others asleep, not spinning.
  const double seconds = seconds_of([] {
    run_devices(4, [](Communicator& comm) {
      for (int i = 0; i < 8; ++i) {
        if (comm.rank() == i % 4) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        comm.barrier();
      }
    });
  });
  CHECK(seconds < 2);
}

}  // namespace meshwork
