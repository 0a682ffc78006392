#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace meshwork::cuda {

/// Whether what a GPU computes is worth anything. Work that is broken off ends as if it were done,
/// and whoever waits for it learns why from here. For any thread.
class Halt {
 public:
  /// Of several the first counts. `break_off` does not throw; who checks meanwhile waits for it, so
  /// that nothing is enqueued any more behind an Error.
  void set(std::exception_ptr reason, const std::function<void()>& break_off);
  /// Whoever set it has gone, and all work with it.
  void clear();
  /// Throws the reason, if there is one.
  void check() const;

  /// Marks (Stream::mark) as kernels write them; what they are when it is set is kept.
  void follow(const std::shared_ptr<std::int32_t>& mark);
  /// What `mark` was when it was set, where that is so; 0 for a null one.
  std::optional<std::int32_t> kept(const std::shared_ptr<std::int32_t>& mark) const;

 private:
  struct Followed {
    std::weak_ptr<std::int32_t> mark;
    std::int32_t kept = 0;
  };

  mutable std::mutex mutex_;  ///< of what is no atomic
  std::atomic<bool> is_set_{false};
  std::exception_ptr reason_;
  std::vector<Followed> followed_;
};

}  // namespace meshwork::cuda
