#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "base/reduction.h"
#include "comm/breakable_barrier.h"
#include "comm/communicator.h"
#include "comm/direct_call.h"

namespace meshwork {

/// Thrown in a device because of another one: never the cause of a failure.
class DeviceLost : public Error {
 public:
  explicit DeviceLost(const std::string& message) : Error(ExitCode::kCommunication, message) {}
};

/// What a member passes to a collective call, for the others to see.
struct Call {
  enum class Kind { kGroup, kReduce, kScatter, kGather, kExchange, kBroadcast, kBarrier, kPrepare };
  Kind kind = Kind::kBarrier;
  DType dtype = DType::kUInt8;
  Reduction reduction = Reduction::kSum;
  int root = 0;
  std::int64_t count = 0;  ///< in all; alike in all members but for kExchange
  const void* send = nullptr;
  void* recv = nullptr;
  std::span<const std::int64_t> counts{};    ///< valid only while its member is in the call
  const CollectiveCall* prepared = nullptr;  ///< likewise
  std::shared_ptr<std::byte> board{};        ///< of member 0: for the prepared call of all
};

/// Data up to this size travels in the slot itself, which saves a second meeting.
constexpr std::size_t kInlineBytes = 4096;

struct alignas(64) Slot {
  Call call;
  alignas(64) std::array<std::byte, kInlineBytes> data;
};

/// What the threads of one group share.
struct ThreadGroup {
  ThreadGroup(int number, std::vector<int> world_ranks, int spins)
      : id(number),
        devices(std::move(world_ranks)),
        barrier(static_cast<int>(devices.size()), spins),
        slots(2 * devices.size()) {}

  /// Ends the pending and later meetings and prepared calls of this group.
  void break_up() noexcept;

  int id;
  std::vector<int> devices;  ///< world ranks by rank in this group
  std::size_t joined = 0;
  BreakableBarrier barrier;
  std::vector<Slot> slots;  ///< by parity of the call, then rank: a call overlaps only the next
  std::vector<std::weak_ptr<std::byte>> boards;  ///< of prepared calls; under the world's mutex
};

/// What all groups of one world share; everything under `mutex`.
struct ThreadWorldState {
  ThreadWorldState(int devices, int spins);

  /// The group of `devices` made from group `parent`: the same for each member that comes.
  std::shared_ptr<ThreadGroup> join(int parent, const std::vector<int>& devices);

  /// A zeroed board, broken up together with the group.
  std::shared_ptr<std::byte> add_board(ThreadGroup& group, std::size_t bytes);

  /// Ends all calls; only the first reason counts.
  void end(int device, int exit_code) noexcept;
  void leave(int device) noexcept;

  /// Why a meeting of `devices` failed.
  [[noreturn]] void throw_lost(const std::vector<int>& devices);
  void throw_if_lost(const std::vector<int>& devices);

  struct End {
    int device;
    int exit_code;
  };

  int size;
  int spins;
  std::mutex mutex;
  int next_id = 0;
  std::vector<bool> taken;
  std::vector<bool> left;
  std::optional<End> ended;
  std::shared_ptr<ThreadGroup> all;
  std::vector<std::weak_ptr<ThreadGroup>> groups;
  std::map<std::pair<int, std::vector<int>>, std::shared_ptr<ThreadGroup>> forming;

 private:
  bool is_lost(const std::vector<int>& devices) const;
  std::shared_ptr<ThreadGroup> add_group(std::vector<int> devices);
};

std::unique_ptr<Communicator> thread_communicator(std::shared_ptr<ThreadWorldState> world,
                                                  std::shared_ptr<ThreadGroup> group, int rank);

}  // namespace meshwork
