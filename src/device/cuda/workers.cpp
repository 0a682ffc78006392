#include "device/cuda/workers.h"

#include <algorithm>
#include <utility>

#include "machine/topology.h"

namespace meshwork::cuda {
namespace {

constexpr std::size_t kMost = 16;

}  // namespace

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::add(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
    if (most_ == 0) most_ = std::clamp<std::size_t>(allowed_processors().size(), 1, kMost);
    if (idle_ < waiting_.size() && threads_.size() < most_) {
      threads_.emplace_back([this] { run(); });
    }
  }
  changed_.notify_one();
}

void Workers::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    --idle_;
    if (ends_) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace meshwork::cuda
