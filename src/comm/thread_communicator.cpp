// Threads reach each other's buffers: to prepare a call is to show the others where one's own are.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "comm/call.h"
#include "comm/call_text.h"
#include "comm/direct_call.h"
#include "comm/single.h"
#include "comm/thread_world.h"

namespace meshwork {
namespace {

/// What a member shows the others of a call that they prepare.
struct Offer {
  const CollectiveCall* call;
  std::shared_ptr<std::byte> board;  ///< for all, of member 0
};

CallBuffers buffers_of(std::span<const void* const> shown) {
  CallBuffers buffers;
  for (const void* each : shown) {
    const CollectiveCall& call = *static_cast<const Offer*>(each)->call;
    buffers.sends.push_back(static_cast<const std::byte*>(call.send));
    buffers.recvs.push_back(static_cast<std::byte*>(call.recv));
    buffers.send_counts.push_back(call.counts);
  }
  return buffers;
}

/// Whether all expect what the others send; members of an all_to_all may each say something else.
bool counts_fit(std::span<const void* const> shown) {
  const auto call = [&](std::size_t i) { return static_cast<const Offer*>(shown[i])->call; };
  if (call(0)->kind != CollectiveCall::Kind::kAllToAll) return true;
  for (std::size_t from = 0; from < shown.size(); ++from) {
    for (std::size_t to = 0; to < shown.size(); ++to) {
      if (call(from)->counts[to] != call(to)->recv_counts[from]) return false;
    }
  }
  return true;
}

class ThreadCommunicator final : public Communicator {
 public:
  explicit ThreadCommunicator(ThreadMember member) : member_(std::move(member)) {}

  int rank() const override { return member_.rank; }
  int size() const override { return member_.size(); }

  std::unique_ptr<Communicator> group(std::span<const int> members) override;
  std::unique_ptr<PreparedCall> prepare(const CollectiveCall& call, Stream& stream) override;
  void check_members() const override { member_.world->throw_if_lost(member_.group->devices); }
  std::shared_ptr<std::byte> allocate(std::int64_t /*bytes*/) override { return nullptr; }

 private:
  ThreadMember member_;
};

std::unique_ptr<Communicator> ThreadCommunicator::group(std::span<const int> members) {
  std::vector<int> devices;
  int rank = -1;
  for (const int member : members) {
    MW_CHECK(member >= 0 && member < size(), "member {} of {}", member, size());
    if (member == member_.rank) rank = static_cast<int>(devices.size());
    const int device = member_.group->devices[static_cast<std::size_t>(member)];
    MW_CHECK(std::count(devices.begin(), devices.end(), device) == 0, "member {} twice", member);
    devices.push_back(device);
  }
  MW_CHECK(rank >= 0, "member {} makes a group without itself", member_.rank);
  if (devices.size() == 1) return single_communicator();
  const ThreadMember member{member_.world, member_.world->join(member_.group->id, devices), rank};
  // Until all have joined, the next group of the same members would be taken for this one.
  member.meet("group");
  return thread_communicator(member);
}

std::unique_ptr<PreparedCall> ThreadCommunicator::prepare(const CollectiveCall& call,
                                                          Stream& stream) {
  check_call(call, size(), stream);
  const auto& [world, group, rank] = member_;
  Offer mine{&call, nullptr};
  if (rank == 0) mine.board = world->add_board(*group, board_bytes(call, size()));
  CallBuffers buffers;
  std::shared_ptr<std::byte> board;
  bool fit = false;
  member_.meet(describe(call), &mine, [&](std::span<const void* const> shown) {
    buffers = buffers_of(shown);
    board = static_cast<const Offer*>(shown[0])->board;
    fit = counts_fit(shown);
  });
  MW_CHECK(fit, "members of an all_to_all do not send what others expect");
  return direct_call(
      call, buffers, board.get(),
      {.rank = rank,
       .size = size(),
       .spin = world->spin,
       .fail_broken = [member = member_] { member.world->throw_lost(member.group->devices); },
       .memory = board},
      stream);
}

}  // namespace

std::unique_ptr<Communicator> thread_communicator(ThreadMember member) {
  return std::make_unique<ThreadCommunicator>(std::move(member));
}

}  // namespace meshwork
