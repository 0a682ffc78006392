#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "comm/breakable_barrier.h"
#include "comm/communicator.h"

namespace meshwork {

/// Thrown in a device because of another one: never the cause of a failure.
class DeviceLost : public Error {
 public:
  explicit DeviceLost(const std::string& message) : Error(ExitCode::kCommunication, message) {}
};

/// What the threads of one group share.
struct ThreadGroup {
  ThreadGroup(int number, std::vector<int> world_ranks, std::chrono::nanoseconds spin)
      : id(number),
        devices(std::move(world_ranks)),
        barrier(static_cast<int>(devices.size()), spin),
        calls(devices.size()),
        shown(devices.size()) {}

  /// Ends the pending and later meetings and prepared calls of this group.
  void break_up() noexcept;

  int id;
  std::vector<int> devices;  ///< world ranks by rank in this group
  std::size_t joined = 0;
  BreakableBarrier barrier;
  std::vector<std::string> calls;                ///< by rank, of this meeting: what each calls
  std::vector<const void*> shown;                ///< and shows the others
  std::vector<std::weak_ptr<std::byte>> boards;  ///< of prepared calls; under the world's mutex
};

/// What all groups of one world share; everything under `mutex`. Members are devices by world rank.
struct ThreadWorldState {
  ThreadWorldState(int number, std::chrono::nanoseconds spin);

  /// The group of `members` made from group `parent`: the same for each member that comes.
  std::shared_ptr<ThreadGroup> join(int parent, const std::vector<int>& members);

  /// A zeroed board, broken up together with the group.
  std::shared_ptr<std::byte> add_board(ThreadGroup& group, std::size_t bytes);

  /// Ends all calls; only the first reason counts.
  void end(int device, int exit_code) noexcept;
  void leave(int device) noexcept;

  /// Why a meeting of `members` failed.
  [[noreturn]] void throw_lost(const std::vector<int>& members);
  void throw_if_lost(const std::vector<int>& members);

  struct End {
    int device;
    int exit_code;
  };

  int size;
  std::chrono::nanoseconds spin;
  std::mutex mutex;
  int next_id = 0;
  std::vector<bool> taken;
  std::vector<bool> left;
  std::optional<End> ended;
  std::shared_ptr<ThreadGroup> hosts;    ///< of all devices
  std::shared_ptr<ThreadGroup> devices;  ///< likewise
  std::vector<std::weak_ptr<ThreadGroup>> groups;
  std::map<std::pair<int, std::vector<int>>, std::shared_ptr<ThreadGroup>> forming;

 private:
  bool is_lost(const std::vector<int>& members) const;
  std::shared_ptr<ThreadGroup> add_group(std::vector<int> members);
};

/// One device as a member of a group.
struct ThreadMember {
  std::shared_ptr<ThreadWorldState> world;
  std::shared_ptr<ThreadGroup> group;
  int rank;

  int size() const { return static_cast<int>(group->devices.size()); }
  int device() const { return group->devices[static_cast<std::size_t>(rank)]; }

  /// Waits for all members, who are to make the same call in words, and shows them `mine` until all
  /// have read. `read` gets what they show, by rank, and must not throw.
  void meet(std::string call, const void* mine = nullptr,
            const std::function<void(std::span<const void* const> shown)>& read = {}) const;
};

std::unique_ptr<HostGroup> thread_host_group(ThreadMember member);
std::unique_ptr<Communicator> thread_communicator(ThreadMember member);

}  // namespace meshwork
