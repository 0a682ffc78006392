#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace meshwork::cuda {

/// Threads that take up work in the order in which it comes, one for each core that the first who
/// brings some may use, 16 at most. What nobody has begun when it ends is left undone.
class Workers {
 public:
  Workers() = default;
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();

  void add(std::function<void()> work);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  std::size_t most_ = 0;  ///< 0: not asked yet
  bool ends_ = false;
};

}  // namespace meshwork::cuda
