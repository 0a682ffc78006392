#include "comm/thread_world.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <numeric>
#include <thread>

#include "base/check.h"
#include "comm/direct_call.h"

namespace meshwork {

void ThreadGroup::break_up() noexcept {
  barrier.break_up();
  for (const auto& weak : boards) {
    if (const auto board = weak.lock()) reinterpret_cast<CallBoard*>(board.get())->break_up();
  }
}

ThreadWorldState::ThreadWorldState(int number, std::chrono::nanoseconds spin_time)
    : size(number),
      spin(spin_time),
      taken(static_cast<std::size_t>(number)),
      left(static_cast<std::size_t>(number)) {
  std::vector<int> ranks(static_cast<std::size_t>(number));
  std::iota(ranks.begin(), ranks.end(), 0);
  hosts = add_group(ranks);
  devices = add_group(std::move(ranks));
}

std::shared_ptr<ThreadGroup> ThreadWorldState::add_group(std::vector<int> members) {
  auto group = std::make_shared<ThreadGroup>(next_id++, std::move(members), spin);
  std::erase_if(groups, [](const auto& other) { return other.expired(); });
  groups.push_back(group);
  return group;
}

std::shared_ptr<ThreadGroup> ThreadWorldState::join(int parent, const std::vector<int>& members) {
  const std::lock_guard lock(mutex);
  auto& group = forming[{parent, members}];
  if (!group) {
    group = add_group(members);
    if (is_lost(members)) group->break_up();
  }
  auto result = group;
  if (++result->joined == members.size()) forming.erase({parent, members});
  return result;
}

std::shared_ptr<std::byte> ThreadWorldState::add_board(ThreadGroup& group, std::size_t bytes) {
  constexpr std::align_val_t kLine{alignof(CallBoard)};
  std::shared_ptr<std::byte> board(static_cast<std::byte*>(::operator new(bytes, kLine)),
                                   [](std::byte* memory) { ::operator delete(memory, kLine); });
  std::memset(board.get(), 0, bytes);
  const std::lock_guard lock(mutex);
  std::erase_if(group.boards, [](const auto& other) { return other.expired(); });
  group.boards.push_back(board);
  return board;
}

bool ThreadWorldState::is_lost(const std::vector<int>& members) const {
  return ended || std::any_of(members.begin(), members.end(),
                              [&](int device) { return left[static_cast<std::size_t>(device)]; });
}

void ThreadWorldState::end(int device, int exit_code) noexcept {
  const std::lock_guard lock(mutex);
  if (!ended) ended = End{device, exit_code};
  for (const auto& weak : groups) {
    if (const auto group = weak.lock()) group->break_up();
  }
}

void ThreadWorldState::leave(int device) noexcept {
  const std::lock_guard lock(mutex);
  left[static_cast<std::size_t>(device)] = true;
  for (const auto& weak : groups) {
    const auto group = weak.lock();
    if (group && std::count(group->devices.begin(), group->devices.end(), device) > 0) {
      group->break_up();
    }
  }
}

void ThreadWorldState::throw_lost(const std::vector<int>& members) {
  // A device that leaves a pending call breaks it first and then says why.
  constexpr int kPatience = 10000;
  for (int millisecond = 0; millisecond < kPatience; ++millisecond) {
    throw_if_lost(members);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  fail(ExitCode::kCommunication, "another device has left a call that others wait for");
}

void ThreadWorldState::throw_if_lost(const std::vector<int>& members) {
  const std::lock_guard lock(mutex);
  if (ended) {
    throw DeviceLost(fmt::format("device {} of {} failed or ended the job (exit code {})",
                                 ended->device, size, ended->exit_code));
  }
  for (const int device : members) {
    if (left[static_cast<std::size_t>(device)]) {
      fail(ExitCode::kCommunication, "device {} of {} ended while others wait for it in a call",
           device, size);
    }
  }
}

namespace {

/// A member that calls something else than the first, in words; all members find the same.
std::string difference(const ThreadGroup& group) {
  for (std::size_t i = 1; i < group.calls.size(); ++i) {
    if (group.calls[i] == group.calls[0]) continue;
    return fmt::format("device {} calls {}, device {} calls {}", group.devices[0], group.calls[0],
                       group.devices[i], group.calls[i]);
  }
  return {};
}

}  // namespace

// All or none pass the first meeting, and all come to the second.
void ThreadMember::meet(std::string call, const void* mine,
                        const std::function<void(std::span<const void* const>)>& read) const {
  group->calls[static_cast<std::size_t>(rank)] = std::move(call);
  group->shown[static_cast<std::size_t>(rank)] = mine;
  if (!group->barrier.meet()) world->throw_lost(group->devices);
  const std::string wrong = difference(*group);
  if (wrong.empty() && read) read(group->shown);
  group->barrier.meet_even_if_broken();
  MW_CHECK(wrong.empty(), "{}", wrong);
}

}  // namespace meshwork
