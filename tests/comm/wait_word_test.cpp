#include "comm/wait_word.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <functional>
#include <new>
#include <thread>

#include "comm/breakable_barrier.h"

namespace meshwork {
namespace {

using std::chrono::milliseconds;

constexpr int kRounds = 1000;
constexpr milliseconds kLong{900};  // a change that nobody is woken for would be seen so late

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Two sides take turns to make the word odd and even.
void take_turns(WaitWord& word, std::uint32_t side) {
  for (int round = 0; round < kRounds; ++round) {
    const auto is_mine = [&](std::uint32_t now) { return now % 2 == side; };
    while (!is_mine(word.value.load())) word.sleep(is_mine, kLong);
    word.value.fetch_add(1);
    word.wake();
  }
}

}  // namespace

TEST_CASE("a sleeper is always woken, in threads") {
  WaitWord word{};
  const double seconds = seconds_of([&] {
    std::thread other([&] { take_turns(word, 1); });
    take_turns(word, 0);
    other.join();
  });
  CHECK(word.value == 2 * kRounds);
  CHECK(word.sleepers == 0);
  CHECK(seconds < 60);
}

TEST_CASE("a sleeper is always woken, in processes") {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto& word = *static_cast<WaitWord*>(memory);
  const double seconds = seconds_of([&] {
    const pid_t child = fork();
    if (child == 0) {
      take_turns(word, 1);
      _exit(0);
    }
    take_turns(word, 0);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  });
  CHECK(word.value == 2 * kRounds);
  CHECK(seconds < 60);
  munmap(memory, 4096);
}

TEST_CASE("a sleep ends by itself") {
  WaitWord word{};
  word.sleep([](std::uint32_t) { return true; }, kLong);
  const double seconds =
      seconds_of([&] { word.sleep([](std::uint32_t) { return false; }, milliseconds(5)); });
  CHECK(seconds >= 0.004);
}

TEST_CASE("who breaks a barrier wakes those who sleep in it") {
  BreakableBarrier barrier(2, {});
  std::thread breaker([&] {
    std::this_thread::sleep_for(milliseconds(10));
    barrier.break_up();
  });
  CHECK_FALSE(barrier.meet());
  breaker.join();
  CHECK_FALSE(barrier.meet());
}

}  // namespace meshwork
