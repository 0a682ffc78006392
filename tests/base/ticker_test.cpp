#include "base/ticker.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

using namespace meshwork;

namespace {

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace

TEST_CASE("a ticker calls with the seconds that passed, until its end") {
  std::atomic<int> calls = 0;
  std::atomic<double> seconds = 0;
  std::atomic<bool> rises = true;
  auto ticker = std::make_unique<Ticker>(0.01, [&](double now) {
    ++calls;
    rises = rises && now > seconds;
    seconds = now;
  });
  while (calls < 5) sleep_for(0.01);
  ticker.reset();
  const int ended = calls;
  CHECK(rises);
  CHECK(seconds >= 0.01 * ended);
  sleep_for(0.05);
  CHECK(calls == ended);
}

TEST_CASE("a time in which a ticker stands still counts as two periods at most") {
  std::atomic<int> calls = 0;
  std::atomic<double> seconds = 0;
  {
    const Ticker ticker(0.001, [&](double now) {
      seconds = now;
      sleep_for(0.1);
      ++calls;
    });
    while (calls < 3) sleep_for(0.01);
  }
  CHECK(seconds <= 0.002 * calls + 1e-9);
}
