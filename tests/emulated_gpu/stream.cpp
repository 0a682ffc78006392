#include "emulated_gpu/stream.h"

#include <utility>

#include "emulated_gpu/context.h"
#include "emulated_gpu/luck.h"
#include "emulated_gpu/region.h"
#include "emulated_gpu/settings.h"

namespace emulated_gpu {

void Mark::reach() {
  {
    const std::lock_guard lock(mutex_);
    reached_ = true;
    time_ = Clock::now();
  }
  changed_.notify_all();
}

bool Mark::wait_a_little() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::milliseconds(1), [&] { return reached_; });
}

bool Mark::is_reached() {
  const std::lock_guard lock(mutex_);
  return reached_;
}

Mark::Clock::time_point Mark::time() {
  const std::lock_guard lock(mutex_);
  return time_;
}

Stream::Stream(Context& context, unsigned flags) : context_(context), flags_(flags) {
  const std::uint64_t seed = settings().seed + 1000 * context.next_stream();
  thread_ = std::thread([this, seed] { run(seed); });
}

Stream::~Stream() {
  synchronize();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Stream::push(std::function<void()> step) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(step));
    ++pushed_;
  }
  changed_.notify_all();
}

void Stream::enqueue(Work work) {
  push([this, work = std::move(work)] {
    if (context_.failure() != CUDA_SUCCESS) return;
    const CUresult result = work();
    if (result != CUDA_SUCCESS) context_.fail(result);
  });
}

void Stream::record(std::shared_ptr<Mark> mark) {
  push([this, mark = std::move(mark)] {
    if (context_.failure() == CUDA_SUCCESS) mark->reach();
  });
}

void Stream::wait_for(std::shared_ptr<Mark> mark) {
  push([this, mark = std::move(mark)] {
    while (context_.failure() == CUDA_SUCCESS && !mark->wait_a_little()) {
    }
  });
}

void Stream::synchronize() {
  std::unique_lock lock(mutex_);
  const std::uint64_t number = pushed_;
  changed_.wait(lock, [&] { return done_ >= number; });
  close_region();
}

bool Stream::idle() {
  const std::lock_guard lock(mutex_);
  return done_ == pushed_;
}

/// Dawdles before every eighth piece of work or so.
void Stream::run(std::uint64_t seed) {
  const FaultStack stack;
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::function<void()> step = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    const std::uint64_t luck = next_luck(seed) % 400;
    if (luck < 50) std::this_thread::sleep_for(std::chrono::microseconds(luck));
    step();
    lock.lock();
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace emulated_gpu
