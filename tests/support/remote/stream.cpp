#include "support/remote/stream.h"

#include <xxhash.h>

#include <chrono>
#include <cstring>
#include <utility>

#include "backend/backend.h"
#include "base/check.h"
#include "base/error.h"
#include "support/remote/memory.h"

namespace meshwork::testing {
namespace {

std::uint64_t checksum(const std::byte* data, std::int64_t bytes) {
  return XXH64(data, static_cast<std::size_t>(bytes), 0);
}

}  // namespace

void RemoteEvent::wait() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->reached >= state_->recorded; });
  if (state_->failure) std::rethrow_exception(state_->failure);
}

RemoteStream::RemoteStream(std::shared_ptr<Hazards> hazards, int threads, std::uint64_t seed)
    : hazards_(std::move(hazards)), id_(hazards_->add_stream()), clock_{{id_, 0}} {
  thread_ = std::thread([this, threads, seed] { run(threads, seed); });
}

RemoteStream::~RemoteStream() {
  drain();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void RemoteStream::push(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void RemoteStream::enqueue(const std::string& name, const std::vector<Use>& uses,
                           std::function<void()> work) {
  Work added{name, uses, std::move(work)};
  if (recording_) {
    recording_->push_back(std::move(added));
    return;
  }
  ++enqueued_;
  add(added);
}

void RemoteStream::add(const Work& work) {
  ++clock_[id_];
  hazards_->check(id_, clock_, work.name, work.uses);
  push([this, work = work.work] {
    if (failure_) return;
    try {
      work();
    } catch (...) {
      failure_ = std::current_exception();
      has_failed_ = true;
    }
  });
}

Launch RemoteStream::recorded(const std::function<void()>& enqueue) {
  recording_.emplace();
  try {
    enqueue();
  } catch (...) {
    recording_.reset();
    throw;
  }
  const auto works = std::make_shared<const std::vector<Work>>(std::move(*recording_));
  recording_.reset();
  return [this, works] {
    ++enqueued_;
    for (const Work& work : *works) add(work);
  };
}

void RemoteStream::mark(std::int32_t number) {
  enqueue("mark", {}, [this, number] { marked_ = number; });
}

std::optional<std::int32_t> RemoteStream::failed_behind() const {
  return has_failed_ ? std::optional<std::int32_t>(marked_) : std::nullopt;
}

void RemoteStream::copy_to_device(std::byte* device, const std::byte* host, std::int64_t bytes) {
  enqueue("copy to the device", {{device, bytes, true}},
          [to = to_local(device), host, bytes, sum = checksum(host, bytes)] {
            if (checksum(host, bytes) != sum) fail("staging memory changed under a copy from it");
            if (bytes > 0) std::memcpy(to, host, static_cast<std::size_t>(bytes));
          });
}

void RemoteStream::copy_to_host(std::byte* host, const std::byte* device, std::int64_t bytes) {
  if (bytes > 0) std::memset(host, 0xCD, static_cast<std::size_t>(bytes));
  enqueue("copy to the host", {{device, bytes, false}}, [host, from = to_local(device), bytes] {
    if (bytes > 0) std::memcpy(host, from, static_cast<std::size_t>(bytes));
  });
}

void RemoteStream::copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
  enqueue("copy", {{from, bytes, false}, {to, bytes, true}},
          [to = to_local(to), from = to_local(from), bytes] {
            if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<std::size_t>(bytes));
          });
}

void RemoteStream::record(Event& event) {
  MW_CHECK(!recording_, "an event within a recorded piece");
  const auto state = dynamic_cast<RemoteEvent&>(event).state_;
  std::int64_t number = 0;
  {
    const std::lock_guard lock(state->mutex);
    number = ++state->recorded;
    state->clock = clock_;
  }
  push([this, state, number] {
    {
      const std::lock_guard lock(state->mutex);
      state->reached = number;
      if (failure_) state->failure = failure_;
    }
    state->changed.notify_all();
  });
}

void RemoteStream::wait_for(const Event& event) {
  MW_CHECK(!recording_, "an event within a recorded piece");
  const auto state = dynamic_cast<const RemoteEvent&>(event).state_;
  std::int64_t number = 0;
  {
    const std::lock_guard lock(state->mutex);
    number = state->recorded;
    join(clock_, state->clock);
  }
  push([this, state, number] {
    std::unique_lock lock(state->mutex);
    state->changed.wait(lock, [&] { return state->reached >= number; });
    if (state->failure && !failure_) failure_ = state->failure;
  });
}

void RemoteStream::drain() noexcept {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
}

/// Takes on the modes of a thread that computes, and dawdles before every fourth piece of work or
/// so.
void RemoteStream::run(int threads, std::uint64_t seed) {
  const std::unique_ptr<Backend> modes = make_cpu_backend(threads);
  for (std::uint64_t count = 0;; ++count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    const float luck = uniform_at(seed, static_cast<std::uint64_t>(id_), count);
    if (luck < 0.25F) std::this_thread::sleep_for(std::chrono::microseconds(int(luck * 400)));
    work();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace meshwork::testing
