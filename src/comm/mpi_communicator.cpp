// Collectives of MPI ranks: in memory that they share on one machine, by that and messages on
// several. Reductions are exchanges and local sums in the canonical order: MPI_Allreduce promises
// none.
#include "comm/mpi_communicator.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "comm/blocks.h"
#include "comm/call.h"
#include "comm/call_text.h"
#include "comm/direct_call.h"
#include "comm/machine_call.h"
#include "comm/machines.h"
#include "comm/message_call.h"
#include "comm/messages.h"
#include "comm/mpi_ranks.h"
#include "comm/shared_arenas.h"
#include "comm/shared_memory.h"
#include "comm/single.h"
#include "machine/mpi_environment.h"

namespace meshwork {
namespace {

using Kind = CollectiveCall::Kind;

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(MPI_Comm comm, const MpiLimits& limits, Machines machines,
                  std::shared_ptr<const SharedArenas> arenas = nullptr)
      : ranks_(comm), limits_(limits), machines_(std::move(machines)), arenas_(std::move(arenas)) {}

  int rank() const override { return ranks_.rank; }
  int size() const override { return ranks_.size; }

  std::unique_ptr<Communicator> group(std::span<const int> members) override;
  std::unique_ptr<PreparedCall> prepare(const CollectiveCall& call, Stream& stream) override;
  std::shared_ptr<std::byte> allocate(std::int64_t bytes) override;

 private:
  /// The call in memory that all members share; null, for all alike, where they do not.
  std::unique_ptr<PreparedCall> prepare_direct(const CollectiveCall& call, Stream& stream);

  /// What a reduction or a gather needs on several machines of which members share one; nothing,
  /// for all alike, where they do not share memory.
  std::optional<MachineSite> shared_site(const CollectiveCall& call);
  /// The same where each member is by itself.
  MachineSite own_site(const CollectiveCall& call) const;

  CallBuffers own_buffers(const CollectiveCall& call) const;

  /// The buffers of the members on this machine where each reaches the others', for all alike.
  std::optional<CallBuffers> shared_buffers(const CollectiveCall& call) const;

  /// The members on this machine, which call it together.
  const MpiRanks& near();
  const std::vector<int>& near_members() const { return machines_.members(machines_.of(rank())); }

  bool all_have(bool mine) const {
    const std::int64_t word = mine ? 1 : 0;
    const std::vector<std::int64_t> all = gather({&word, 1});
    return std::ranges::find(all, 0) == all.end();
  }

  /// Breaks, on all alike, where members have prepared different calls.
  void check_same_call(const CollectiveCall& call) const {
    const std::string text = describe(call);
    const std::int64_t mine = number_of(text);
    const std::vector<std::int64_t> all = gather({&mine, 1});
    MW_CHECK(std::ranges::count(all, all[0]) == size(), "ranks prepare different calls, this {}",
             text);
  }

  /// The same number of elements from every member, one after the other.
  std::vector<std::int64_t> gather(std::span<const std::int64_t> mine) const;

  MpiRanks ranks_;
  MpiLimits limits_;
  Machines machines_;
  std::optional<MpiRanks> near_;                ///< where there are several machines
  std::shared_ptr<const SharedArenas> arenas_;  ///< of the members on this machine
  int next_tag_ = 1;
};

/// The communicator of some ranks of another, in the order of their new ranks.
MPI_Comm group_of(MPI_Comm comm, std::span<const int> members) {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Comm group = MPI_COMM_NULL;
  MW_MPI(MPI_Comm_group(comm, &all));
  MW_MPI(MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some));
  MW_MPI(MPI_Comm_create_group(comm, some, 0, &group));
  MW_MPI(MPI_Group_free(&some));
  MW_MPI(MPI_Group_free(&all));
  return group;
}

std::unique_ptr<Communicator> MpiCommunicator::group(std::span<const int> members) {
  for (const int member : members) {
    MW_CHECK(member >= 0 && member < size(), "member {} of {}", member, size());
    MW_CHECK(std::count(members.begin(), members.end(), member) == 1, "member {} twice", member);
  }
  MW_CHECK(std::count(members.begin(), members.end(), rank()) == 1,
           "member {} makes a group without itself", rank());
  if (members.size() == 1) return single_communicator();
  Machines machines = machines_.group(members);
  std::shared_ptr<const SharedArenas> arenas;
  if (arenas_) {
    // Places among those on this machine, of which the group has some.
    std::vector<int> places;
    for (const int member : members) {
      if (machines_.of(member) == machines_.of(rank())) places.push_back(machines_.place(member));
    }
    arenas = arenas_->of(places);
  }
  return std::make_unique<MpiCommunicator>(group_of(ranks_.comm, members), limits_,
                                           std::move(machines), std::move(arenas));
}

std::shared_ptr<std::byte> MpiCommunicator::allocate(std::int64_t bytes) {
  if (!limits_.share_memory) return nullptr;
  arenas_ = SharedArenas::create(near().comm, bytes);
  if (!all_have(arenas_ != nullptr)) arenas_ = nullptr;
  return arenas_ ? arenas_->memory(near().rank) : nullptr;
}

const MpiRanks& MpiCommunicator::near() {
  if (machines_.count() == 1) return ranks_;
  if (!near_) near_.emplace(group_of(ranks_.comm, near_members()));
  return *near_;
}

std::unique_ptr<PreparedCall> MpiCommunicator::prepare(const CollectiveCall& call, Stream& stream) {
  check_call(call, size(), stream);
  check_same_call(call);
  const int tag = next_tag_;
  next_tag_ += 2;
  if (auto direct = prepare_direct(call, stream)) return direct;
  const bool is_given_by_one = call.kind == Kind::kAllGather && only_giver(call.counts) >= 0;
  if (call.kind == Kind::kAllToAll || is_given_by_one) {
    return message_call(ranks_, limits_, tag, call, stream);
  }
  std::optional<MachineSite> shared = shared_site(call);
  return machine_call(ranks_, limits_, tag, call, shared ? std::move(*shared) : own_site(call),
                      stream);
}

std::unique_ptr<PreparedCall> MpiCommunicator::prepare_direct(const CollectiveCall& call,
                                                              Stream& stream) {
  std::optional<CallBuffers> buffers;
  if (machines_.count() == 1) buffers = shared_buffers(call);
  if (!buffers) return nullptr;
  if (call.kind == Kind::kAllToAll) {
    const std::vector<std::int64_t> counts = gather(call.counts);
    for (auto first = counts.begin(); first != counts.end(); first += size()) {
      buffers->send_counts.emplace_back(first, first + size());
    }
  }
  const std::size_t bytes = board_bytes(call, size());
  std::byte* memory = map_shared_memory(ranks_.comm, bytes);
  if (memory == nullptr) return nullptr;
  CallPeers peers{.rank = rank(), .size = size(), .spin = rank_spin_time(), .own_buffers = false};
  peers.memory = {memory, [bytes](void* mapped) { munmap(mapped, bytes); }};
  peers.arenas = arenas_;
  peers.progress = progress_messages;
  return direct_call(call, *buffers, memory, std::move(peers), stream);
}

std::optional<MachineSite> MpiCommunicator::shared_site(const CollectiveCall& call) {
  if (machines_.count() == 1 || !machines_.are_shared()) return std::nullopt;
  std::optional<CallBuffers> buffers = shared_buffers(call);
  if (!buffers) return std::nullopt;
  std::byte* const board = map_shared_memory(near().comm, sizeof(CallBoard));
  std::shared_ptr<std::byte> kept(board, [](std::byte* mapped) {
    if (mapped != nullptr) munmap(mapped, sizeof(CallBoard));
  });
  if (!all_have(board != nullptr)) return std::nullopt;
  return MachineSite{machines_, std::move(*buffers), std::move(kept), arenas_};
}

MachineSite MpiCommunicator::own_site(const CollectiveCall& call) const {
  std::vector<int> alone(static_cast<std::size_t>(size()));
  std::iota(alone.begin(), alone.end(), 0);
  const auto board = std::make_shared<CallBoard>();
  return {Machines(std::move(alone)),
          own_buffers(call),
          {board, reinterpret_cast<std::byte*>(board.get())},
          nullptr};
}

CallBuffers MpiCommunicator::own_buffers(const CollectiveCall& call) const {
  const auto n = static_cast<std::size_t>(size());
  const auto me = static_cast<std::size_t>(rank());
  CallBuffers buffers{.sends = std::vector<const std::byte*>(n),
                      .recvs = std::vector<std::byte*>(n)};
  buffers.sends[me] = static_cast<const std::byte*>(call.send);
  buffers.recvs[me] = static_cast<std::byte*>(call.recv);
  return buffers;
}

std::optional<CallBuffers> MpiCommunicator::shared_buffers(const CollectiveCall& call) const {
  CallBuffers buffers = own_buffers(call);
  const bool is_one_machine = machines_.count() == 1;
  if (is_one_machine && slot_bytes(call) > 0) return buffers;
  if (!arenas_) return std::nullopt;  // alike in all: they are given together
  const auto find = [&](const void* begin, std::int64_t count) {
    return arenas_->find(machines_.place(rank()), begin, bytes_of(count, call.dtype)).value_or(-1);
  };
  // Where others write what this member receives.
  std::int64_t written = call.kind == Kind::kAllReduce ? call.count : 0;
  if (call.kind == Kind::kAllGather && !is_one_machine) written = total(call.counts);
  const std::array<std::int64_t, 2> mine{find(call.send, sent_by(call, rank())),
                                         written > 0 ? find(call.recv, written) : 0};
  const std::vector<std::int64_t> all = gather(mine);
  if (std::count(all.begin(), all.end(), -1) > 0) return std::nullopt;
  for (std::size_t i = 0; i < near_members().size(); ++i) {
    const auto member = static_cast<std::size_t>(near_members()[i]);
    std::byte* const memory = arenas_->memory(static_cast<int>(i)).get();
    buffers.sends[member] = memory + all[2 * member];
    buffers.recvs[member] = memory + all[2 * member + 1];
  }
  return buffers;
}

std::vector<std::int64_t> MpiCommunicator::gather(std::span<const std::int64_t> mine) const {
  std::vector<std::int64_t> all(mine.size() * static_cast<std::size_t>(size()));
  const int count = static_cast<int>(mine.size());
  MW_MPI(
      MPI_Allgather(mine.data(), count, MPI_INT64_T, all.data(), count, MPI_INT64_T, ranks_.comm));
  return all;
}

/// Of each rank: the first one that may share memory with it.
Machines find_machines(MPI_Comm comm, const MpiLimits& limits) {
  int rank = 0, size = 1;
  MW_MPI(MPI_Comm_rank(comm, &rank));
  MW_MPI(MPI_Comm_size(comm, &size));
  int machine = rank;
  if (limits.share_memory && limits.ranks_of_machine > 0) {
    machine = rank / limits.ranks_of_machine;
  } else if (limits.share_memory) {
    MPI_Comm near = MPI_COMM_NULL;
    MW_MPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &near));
    MW_MPI(MPI_Allreduce(MPI_IN_PLACE, &machine, 1, MPI_INT, MPI_MIN, near));
    MW_MPI(MPI_Comm_free(&near));
  }
  std::vector<int> all(static_cast<std::size_t>(size));
  MW_MPI(MPI_Allgather(&machine, 1, MPI_INT, all.data(), 1, MPI_INT, comm));
  return Machines(std::move(all));
}

}  // namespace

std::unique_ptr<Communicator> mpi_communicator(MPI_Comm comm, const MpiLimits& limits) {
  return std::make_unique<MpiCommunicator>(comm, limits, find_machines(comm, limits));
}

}  // namespace meshwork
