#include "data/image/shared_samples.h"

#include <algorithm>

namespace meshwork::data {
namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20U;
constexpr std::size_t kLeast = 8;

}  // namespace

SharedSamples::SharedSamples(std::size_t sample_bytes)
    : sample_bytes_(sample_bytes),
      most_(std::max(kLeast, kMostBytes / std::max<std::size_t>(sample_bytes, 1))) {}

void SharedSamples::prepare(std::int64_t sample, int readers,
                            const std::function<void(std::byte* to)>& decode) {
  Slot* slot = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (find(sample) != nullptr) return;
    std::unique_ptr<Slot> empty = empty_slot();
    if (empty == nullptr) return;
    slot = empty.get();
    slot->sample = sample;
    slot->reads_left = readers;
    used_.push_back(std::move(empty));
  }
  const auto end = [&](bool failed) {
    const std::lock_guard lock(mutex_);
    slot->is_ready = !failed;
    slot->has_failed = failed;
    if (failed && slot->users == 0) drop(slot);
    changed_.notify_all();
  };
  try {
    decode(slot->bytes.get());
  } catch (...) {
    end(true);
    throw;
  }
  end(false);
}

bool SharedSamples::read(std::int64_t sample, const std::function<void(const std::byte*)>& read) {
  std::unique_lock lock(mutex_);
  Slot* slot = find(sample);
  if (slot == nullptr) return false;
  ++slot->users;
  changed_.wait(lock, [&] { return slot->is_ready || slot->has_failed; });
  const bool is_ready = slot->is_ready;
  if (is_ready) {
    lock.unlock();
    read(slot->bytes.get());
    lock.lock();
    --slot->reads_left;
  }
  --slot->users;
  if (slot->users == 0 && (slot->has_failed || slot->reads_left <= 0)) drop(slot);
  return is_ready;
}

/// One that was left, a new one, or that of the oldest sample that nobody is about to read; null
/// where all are in use.
std::unique_ptr<SharedSamples::Slot> SharedSamples::empty_slot() {
  if (idle_.empty() && used_.size() >= most_) {
    const auto oldest = std::find_if(used_.begin(), used_.end(), [](const auto& slot) {
      return slot->is_ready && slot->users == 0;
    });
    if (oldest == used_.end()) return nullptr;
    drop(oldest->get());
  }
  std::unique_ptr<Slot> slot;
  if (idle_.empty()) {
    slot = std::make_unique<Slot>();
    slot->bytes = std::make_unique<std::byte[]>(sample_bytes_);
  } else {
    slot = std::move(idle_.back());
    idle_.pop_back();
  }
  slot->is_ready = slot->has_failed = false;
  return slot;
}

SharedSamples::Slot* SharedSamples::find(std::int64_t sample) const {
  const auto found = std::find_if(used_.begin(), used_.end(),
                                  [&](const auto& slot) { return slot->sample == sample; });
  return found == used_.end() ? nullptr : found->get();
}

void SharedSamples::drop(const Slot* slot) {
  const auto found = std::find_if(used_.begin(), used_.end(),
                                  [&](const auto& used) { return used.get() == slot; });
  idle_.push_back(std::move(*found));
  used_.erase(found);
}

}  // namespace meshwork::data
