#include "emulated_gpu/stream.h"

#include <utility>

#include "emulated_gpu/context.h"
#include "emulated_gpu/luck.h"
#include "emulated_gpu/region.h"
#include "emulated_gpu/settings.h"

namespace emulated_gpu {
void Mark::wait(std::uint64_t number) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return reached >= number; });
}

void Mark::wait_all() {
  std::unique_lock lock(mutex);
  const std::uint64_t number = recorded;
  changed.wait(lock, [&] { return reached >= number; });
  close_region();
}

bool Mark::is_new() {
  const std::lock_guard lock(mutex);
  return recorded == 0;
}

bool Mark::done() {
  const std::lock_guard lock(mutex);
  return reached >= recorded;
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

void Stream::record(Event& event) {
  const std::shared_ptr<Mark> mark = event.mark;
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mark->mutex);
    number = ++mark->recorded;
  }
  push([mark, number] {
    {
      const std::lock_guard lock(mark->mutex);
      if (number > mark->reached) {
        mark->reached = number;
        mark->time = Mark::Clock::now();
      }
    }
    mark->changed.notify_all();
  });
}

void Stream::wait_for(const Event& event) {
  const std::shared_ptr<Mark> mark = event.mark;
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mark->mutex);
    number = mark->recorded;
  }
  push([mark, number] { mark->wait(number); });
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

/// Dawdles before every fourth piece of work or so.
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
    if (luck < 100) std::this_thread::sleep_for(std::chrono::microseconds(luck));
    step();
    lock.lock();
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace emulated_gpu
