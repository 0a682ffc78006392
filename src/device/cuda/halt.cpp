#include "device/cuda/halt.h"

#include <utility>

namespace meshwork::cuda {

void Halt::set(std::exception_ptr reason, const std::function<void()>& break_off) {
  const std::lock_guard lock(mutex_);
  if (!is_set_) {
    reason_ = std::move(reason);
    for (Followed& followed : followed_) {
      const auto mark = followed.mark.lock();
      if (mark != nullptr) followed.kept = *static_cast<const volatile std::int32_t*>(mark.get());
    }
    is_set_ = true;
  }
  break_off();
}

void Halt::clear() {
  const std::lock_guard lock(mutex_);
  is_set_ = false;
  reason_ = nullptr;
}

void Halt::check() const {
  if (!is_set_) return;
  const std::lock_guard lock(mutex_);
  if (reason_ != nullptr) std::rethrow_exception(reason_);
}

void Halt::follow(const std::shared_ptr<std::int32_t>& mark) {
  const std::lock_guard lock(mutex_);
  std::erase_if(followed_, [](const Followed& other) { return other.mark.expired(); });
  followed_.push_back({mark});
}

std::optional<std::int32_t> Halt::kept(const std::shared_ptr<std::int32_t>& mark) const {
  if (!is_set_) return std::nullopt;
  const std::lock_guard lock(mutex_);
  for (const Followed& followed : followed_) {
    if (mark != nullptr && followed.mark.lock() == mark) return followed.kept;
  }
  return 0;
}

}  // namespace meshwork::cuda
