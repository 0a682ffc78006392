#include "base/ticker.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace meshwork {

Ticker::Ticker(double period, std::function<void(double)> tick)
    : period_(period), tick_(std::move(tick)), thread_([this] { run(); }) {}

Ticker::~Ticker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Ticker::run() {
  using Clock = std::chrono::steady_clock;
  double seconds = 0;
  Clock::time_point last = Clock::now();
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::duration<double>(period_), [&] { return stop_; })) {
    const Clock::time_point now = Clock::now();
    const std::chrono::duration<double> passed = now - std::exchange(last, now);
    seconds += std::min(passed.count(), 2 * period_);
    tick_(seconds);
  }
}

}  // namespace meshwork
