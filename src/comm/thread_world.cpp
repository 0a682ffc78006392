#include "comm/thread_world.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace meshwork {

ThreadWorldState::ThreadWorldState(int devices, int spin_rounds)
    : size(devices),
      spins(spin_rounds),
      taken(static_cast<std::size_t>(devices)),
      left(static_cast<std::size_t>(devices)) {
  std::vector<int> ranks(static_cast<std::size_t>(devices));
  std::iota(ranks.begin(), ranks.end(), 0);
  all = add_group(std::move(ranks));
}

std::shared_ptr<ThreadGroup> ThreadWorldState::add_group(std::vector<int> devices) {
  auto group = std::make_shared<ThreadGroup>(next_id++, std::move(devices), spins);
  std::erase_if(groups, [](const auto& other) { return other.expired(); });
  groups.push_back(group);
  return group;
}

std::shared_ptr<ThreadGroup> ThreadWorldState::join(int parent, const std::vector<int>& devices) {
  const std::lock_guard lock(mutex);
  auto& group = forming[{parent, devices}];
  if (!group) {
    group = add_group(devices);
    if (is_lost(devices)) group->barrier.break_up();
  }
  auto result = group;
  if (++result->joined == devices.size()) forming.erase({parent, devices});
  return result;
}

bool ThreadWorldState::is_lost(const std::vector<int>& devices) const {
  return ended || std::any_of(devices.begin(), devices.end(),
                              [&](int device) { return left[static_cast<std::size_t>(device)]; });
}

void ThreadWorldState::end(int device, int exit_code) noexcept {
  const std::lock_guard lock(mutex);
  if (!ended) ended = End{device, exit_code};
  for (const auto& weak : groups) {
    if (const auto group = weak.lock()) group->barrier.break_up();
  }
}

void ThreadWorldState::leave(int device) noexcept {
  const std::lock_guard lock(mutex);
  left[static_cast<std::size_t>(device)] = true;
  for (const auto& weak : groups) {
    const auto group = weak.lock();
    if (group && std::count(group->devices.begin(), group->devices.end(), device) > 0) {
      group->barrier.break_up();
    }
  }
}

void ThreadWorldState::throw_lost(const std::vector<int>& devices) {
  const std::lock_guard lock(mutex);
  if (ended) {
    throw DeviceLost(fmt::format("device {} of {} failed or ended the job (exit code {})",
                                 ended->device, size, ended->exit_code));
  }
  for (const int device : devices) {
    if (left[static_cast<std::size_t>(device)]) {
      fail(ExitCode::kCommunication, "device {} of {} ended while others wait for it in a call",
           device, size);
    }
  }
  MW_CHECK(false, "a meeting was broken without a reason");
}

}  // namespace meshwork
