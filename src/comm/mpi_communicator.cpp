// Collectives of MPI ranks: in memory that they share, where they can, else by messages. Reductions
// are exchanges and local sums in the canonical order: MPI_Allreduce promises none.
#include "comm/mpi_communicator.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "comm/blocks.h"
#include "comm/direct_call.h"
#include "comm/message_call.h"
#include "comm/mpi_ranks.h"
#include "comm/shared_arenas.h"
#include "comm/shared_memory.h"
#include "comm/single.h"
#include "machine/mpi_environment.h"

namespace meshwork {
namespace {

/// Messages of an earlier call by MPI may still need a hand, and the receiver may be waited for.
void progress_messages() {
  int found = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
}

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(MPI_Comm comm, const MpiLimits& limits,
                  std::shared_ptr<const SharedArenas> arenas = nullptr)
      : ranks_(comm), limits_(limits), arenas_(std::move(arenas)) {}

  int rank() const override { return ranks_.rank; }
  int size() const override { return ranks_.size; }

  std::unique_ptr<Communicator> group(std::span<const int> members) override;
  std::unique_ptr<PreparedCall> prepare(const CollectiveCall& call, Stream& stream) override;
  std::shared_ptr<std::byte> allocate(std::int64_t bytes) override;

 private:
  /// The call in memory that all members share; null, for all alike, where they do not.
  std::unique_ptr<PreparedCall> prepare_direct(const CollectiveCall& call, Stream& stream) const;

  /// The buffers of all members where each reaches the others', for all alike.
  std::optional<CallBuffers> direct_buffers(const CollectiveCall& call) const;

  /// The same number of elements from every member, one after the other.
  std::vector<std::int64_t> gather(std::span<const std::int64_t> mine) const;

  MpiRanks ranks_;
  MpiLimits limits_;
  std::shared_ptr<const SharedArenas> arenas_;
  int next_tag_ = 1;
};

std::unique_ptr<Communicator> MpiCommunicator::group(std::span<const int> members) {
  for (const int member : members) {
    MW_CHECK(member >= 0 && member < size(), "member {} of {}", member, size());
    MW_CHECK(std::count(members.begin(), members.end(), member) == 1, "member {} twice", member);
  }
  MW_CHECK(std::count(members.begin(), members.end(), rank()) == 1,
           "member {} makes a group without itself", rank());
  if (members.size() == 1) return single_communicator();
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MW_MPI(MPI_Comm_group(ranks_.comm, &all));
  MW_MPI(MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some));
  MW_MPI(MPI_Comm_create_group(ranks_.comm, some, 0, &comm));
  MW_MPI(MPI_Group_free(&some));
  MW_MPI(MPI_Group_free(&all));
  return std::make_unique<MpiCommunicator>(comm, limits_, arenas_ ? arenas_->of(members) : nullptr);
}

std::shared_ptr<std::byte> MpiCommunicator::allocate(std::int64_t bytes) {
  if (!limits_.share_memory) return nullptr;
  arenas_ = SharedArenas::create(ranks_.comm, bytes);
  return arenas_ ? arenas_->memory(rank()) : nullptr;
}

std::unique_ptr<PreparedCall> MpiCommunicator::prepare(const CollectiveCall& call, Stream& stream) {
  check_call(call, size(), stream);
  const int tag = next_tag_;
  next_tag_ += 2;
  auto direct = limits_.share_memory ? prepare_direct(call, stream) : nullptr;
  return direct ? std::move(direct) : message_call(ranks_.comm, limits_, tag, call, stream);
}

std::unique_ptr<PreparedCall> MpiCommunicator::prepare_direct(const CollectiveCall& call,
                                                              Stream& stream) const {
  const std::optional<CallBuffers> buffers = direct_buffers(call);
  if (!buffers) return nullptr;
  const std::size_t bytes = board_bytes(call, size());
  std::byte* memory = map_shared_memory(ranks_.comm, bytes);
  if (memory == nullptr) return nullptr;
  CallPeers peers{.rank = rank(), .size = size(), .spin = rank_spin_time(), .own_buffers = false};
  peers.memory = {memory, [bytes](void* mapped) { munmap(mapped, bytes); }};
  peers.arenas = arenas_;
  peers.progress = progress_messages;
  return direct_call(call, *buffers, memory, std::move(peers), stream);
}

std::optional<CallBuffers> MpiCommunicator::direct_buffers(const CollectiveCall& call) const {
  const auto n = static_cast<std::size_t>(size());
  const auto me = static_cast<std::size_t>(rank());
  CallBuffers buffers{.sends = std::vector<const std::byte*>(n),
                      .recvs = std::vector<std::byte*>(n)};
  buffers.sends[me] = static_cast<const std::byte*>(call.send);
  buffers.recvs[me] = static_cast<std::byte*>(call.recv);
  if (slot_bytes(call) > 0) return buffers;
  if (!arenas_) return std::nullopt;  // alike in all: they are given together
  const bool to_all = call.kind == CollectiveCall::Kind::kAllReduce;
  const std::size_t sent = bytes_of(sent_by(call, rank()), call.dtype);
  const std::array<std::int64_t, 2> mine{
      arenas_->find(rank(), call.send, sent).value_or(-1),
      to_all ? arenas_->find(rank(), call.recv, sent).value_or(-1) : 0};
  const std::vector<std::int64_t> all = gather(mine);
  if (std::count(all.begin(), all.end(), -1) > 0) return std::nullopt;
  for (std::size_t i = 0; i < n; ++i) {
    std::byte* memory = arenas_->memory(static_cast<int>(i)).get();
    buffers.sends[i] = memory + all[2 * i];
    buffers.recvs[i] = memory + all[2 * i + 1];
  }
  if (call.kind == CollectiveCall::Kind::kAllToAll) {
    const std::vector<std::int64_t> counts = gather(call.counts);
    for (auto first = counts.begin(); first != counts.end(); first += size()) {
      buffers.send_counts.emplace_back(first, first + size());
    }
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

}  // namespace

std::unique_ptr<Communicator> mpi_communicator(MPI_Comm comm, const MpiLimits& limits) {
  return std::make_unique<MpiCommunicator>(comm, limits);
}

}  // namespace meshwork
