#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace meshwork {

/// Calls a function about every `period` seconds until its end, in a thread of its own, with the
/// seconds since it began. A time in which the process stood still (SIGSTOP, Ctrl-Z) counts as two
/// periods at most.
class Ticker {
 public:
  Ticker(double period, std::function<void(double seconds)> tick);
  /// Waits for a call that is under way.
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  void run();

  double period_;
  std::function<void(double)> tick_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace meshwork
