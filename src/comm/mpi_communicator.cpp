// Collectives of MPI ranks. Reductions are exchanges and local sums in the canonical order:
// MPI_Allreduce promises none.
#include "comm/mpi_communicator.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "comm/blocks.h"
#include "comm/direct_call.h"
#include "comm/message_call.h"
#include "comm/mpi_check.h"
#include "comm/shared_arenas.h"
#include "comm/shared_group.h"
#include "comm/shared_memory.h"
#include "comm/single.h"
#include "comm/tree_sum.h"

namespace meshwork {
namespace {

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(MPI_Comm comm, const MpiLimits& limits,
                  std::shared_ptr<const SharedArenas> arenas = nullptr);
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::unique_ptr<Communicator> group(std::span<const int> members) override;
  void all_reduce(const void* send, void* recv, std::int64_t count, DType dtype,
                  Reduction reduction) override;
  void reduce_scatter(const void* send, void* recv, std::span<const std::int64_t> counts,
                      DType dtype, Reduction reduction) override;
  void all_gather(const void* send, void* recv, std::span<const std::int64_t> counts,
                  DType dtype) override;
  void all_to_all(const void* send, std::span<const std::int64_t> send_counts, void* recv,
                  std::span<const std::int64_t> recv_counts, DType dtype) override;
  std::unique_ptr<PreparedCall> prepare(const CollectiveCall& call) override;
  std::shared_ptr<std::byte> allocate(std::int64_t bytes) override;
  void broadcast(void* data, std::size_t bytes, int root) override;
  void barrier() override;
  void abort(int exit_code) noexcept override;

 private:
  /// Block j of counts[j] elements at elements[j]; j = rank is left out of exchanges.
  struct Blocks {
    std::vector<std::int64_t> begins;
    std::vector<std::int64_t> counts;
  };

  void check_counts(std::span<const std::int64_t> counts) const;
  std::byte* scratch();

  /// The shared memory of all members, made in the first call that wants it; may be none.
  SharedGroup* shared();

  /// The buffers of all members where each reaches the others', for all alike.
  std::optional<CallBuffers> direct_buffers(const CollectiveCall& call) const;

  /// All members' `count` elements to everyone, for a local sum.
  void reduce_small(const void* send, void* recv, std::int64_t count, DType dtype,
                    Reduction reduction);
  /// Each member reduces its part of the chunk, then all gather the parts.
  void reduce_chunk(const void* send, void* recv, std::int64_t count, DType dtype,
                    Reduction reduction);
  /// Receives this member's piece of `pieces` from all others and reduces it with its own to recv.
  void reduce_piece(const void* send, const Blocks& pieces, void* recv, DType dtype,
                    Reduction reduction);
  /// Every block from and to every other member at once, in messages that MPI can name.
  void exchange(const void* send, const Blocks& out, void* recv, const Blocks& in, DType dtype);

  MPI_Comm comm_;
  MpiLimits limits_;
  int rank_ = 0;
  int size_ = 1;
  bool shared_tried_ = false;
  std::unique_ptr<SharedGroup> shared_;
  std::shared_ptr<const SharedArenas> arenas_;
  int next_tag_ = 1;
  std::vector<std::byte> scratch_;
  std::vector<const void*> inputs_;
  std::vector<MPI_Request> requests_;
  Blocks out_;
  Blocks in_;
  std::vector<int> counts_;
  std::vector<int> displacements_;
};

MpiCommunicator::MpiCommunicator(MPI_Comm comm, const MpiLimits& limits,
                                 std::shared_ptr<const SharedArenas> arenas)
    : comm_(comm), limits_(limits), arenas_(std::move(arenas)) {
  MW_MPI(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN));
  MW_MPI(MPI_Comm_rank(comm_, &rank_));
  MW_MPI(MPI_Comm_size(comm_, &size_));
  const auto size = static_cast<std::size_t>(size_);
  inputs_.resize(size);
  counts_.resize(size);
  displacements_.resize(size);
  for (Blocks* blocks : {&out_, &in_}) {
    blocks->begins.resize(size);
    blocks->counts.resize(size);
  }
}

MpiCommunicator::~MpiCommunicator() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  // To free is collective: when an exception unwinds this rank, the others may never come.
  if (finalized == 0 && std::uncaught_exceptions() == 0) MPI_Comm_free(&comm_);
}

void MpiCommunicator::check_counts(std::span<const std::int64_t> counts) const {
  MW_CHECK(std::ssize(counts) == size_, "{} counts, {} members", counts.size(), size_);
  for (const std::int64_t count : counts) MW_CHECK(count >= 0, "a block of {} elements", count);
}

std::byte* MpiCommunicator::scratch() {
  const auto size = static_cast<std::size_t>(size_);
  if (scratch_.empty()) {
    // Parts of a chunk differ by up to a line.
    scratch_.resize(std::max(limits_.chunk_bytes + 64 * (size + 1), size * limits_.small_bytes));
  }
  return scratch_.data();
}

SharedGroup* MpiCommunicator::shared() {
  if (!shared_tried_ && limits_.share_memory) {
    shared_ = SharedGroup::create(comm_, limits_.stage_bytes);
  }
  shared_tried_ = true;
  return shared_.get();
}

void MpiCommunicator::barrier() {
  if (SharedGroup* memory = shared()) return memory->barrier();
  MW_MPI(MPI_Barrier(comm_));
}

std::unique_ptr<Communicator> MpiCommunicator::group(std::span<const int> members) {
  for (const int member : members) {
    MW_CHECK(member >= 0 && member < size_, "member {} of {}", member, size_);
    MW_CHECK(std::count(members.begin(), members.end(), member) == 1, "member {} twice", member);
  }
  MW_CHECK(std::count(members.begin(), members.end(), rank_) == 1,
           "member {} makes a group without itself", rank_);
  if (members.size() == 1) {
    return single_communicator([comm = comm_](int exit_code) { MPI_Abort(comm, exit_code); });
  }
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MW_MPI(MPI_Comm_group(comm_, &all));
  MW_MPI(MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some));
  MW_MPI(MPI_Comm_create_group(comm_, some, 0, &comm));
  MW_MPI(MPI_Group_free(&some));
  MW_MPI(MPI_Group_free(&all));
  return std::make_unique<MpiCommunicator>(comm, limits_, arenas_ ? arenas_->of(members) : nullptr);
}

void MpiCommunicator::all_reduce(const void* send, void* recv, std::int64_t count, DType dtype,
                                 Reduction reduction) {
  MW_CHECK(count >= 0 && dtype != DType::kUInt8, "{} {}", count, to_string(dtype));
  if (SharedGroup* memory = shared()) {
    return memory->all_reduce(send, recv, count, dtype, reduction);
  }
  if (bytes_of(count, dtype) <= limits_.small_bytes) {
    return reduce_small(send, recv, count, dtype, reduction);
  }
  const auto chunk = static_cast<std::int64_t>(limits_.chunk_bytes / size_of(dtype));
  for (std::int64_t begin = 0; begin < count; begin += chunk) {
    reduce_chunk(advance(send, begin, dtype), advance(recv, begin, dtype),
                 std::min(chunk, count - begin), dtype, reduction);
  }
}

void MpiCommunicator::reduce_small(const void* send, void* recv, std::int64_t count, DType dtype,
                                   Reduction reduction) {
  std::byte* gathered = scratch();
  const auto n = static_cast<int>(count);
  MW_MPI(MPI_Allgather(send, n, mpi_type(dtype), gathered, n, mpi_type(dtype), comm_));
  for (std::size_t j = 0; j < inputs_.size(); ++j) {
    inputs_[j] = gathered + j * bytes_of(count, dtype);
  }
  tree_reduce(inputs_, recv, count, dtype, reduction);
}

void MpiCommunicator::reduce_chunk(const void* send, void* recv, std::int64_t count, DType dtype,
                                   Reduction reduction) {
  for (int j = 0; j < size_; ++j) {
    const auto i = static_cast<std::size_t>(j);
    out_.begins[i] = part_begin(count, j, size_, dtype);
    out_.counts[i] = part_begin(count, j + 1, size_, dtype) - out_.begins[i];
    displacements_[i] = static_cast<int>(out_.begins[i]);
    counts_[i] = static_cast<int>(out_.counts[i]);
  }
  const std::int64_t mine = out_.begins[static_cast<std::size_t>(rank_)];
  reduce_piece(send, out_, advance(recv, mine, dtype), dtype, reduction);
  MW_MPI(MPI_Allgatherv(MPI_IN_PLACE, 0, mpi_type(dtype), recv, counts_.data(),
                        displacements_.data(), mpi_type(dtype), comm_));
}

void MpiCommunicator::reduce_piece(const void* send, const Blocks& pieces, void* recv, DType dtype,
                                   Reduction reduction) {
  const auto me = static_cast<std::size_t>(rank_);
  const std::int64_t count = pieces.counts[me];
  std::byte* received = scratch();
  for (std::size_t j = 0; j < inputs_.size(); ++j) {
    in_.begins[j] = static_cast<std::int64_t>(j) * count;
    in_.counts[j] = count;
    inputs_[j] = advance(received, in_.begins[j], dtype);
  }
  inputs_[me] = advance(send, pieces.begins[me], dtype);
  exchange(send, pieces, received, in_, dtype);
  tree_reduce(inputs_, recv, count, dtype, reduction);
}

void MpiCommunicator::exchange(const void* send, const Blocks& out, void* recv, const Blocks& in,
                               DType dtype) {
  requests_.clear();
  const MPI_Datatype type = mpi_type(dtype);
  const auto messages = [&](std::int64_t count, const auto& start) {
    for (std::int64_t begin = 0; begin < count; begin += limits_.max_count) {
      start(begin, static_cast<int>(std::min(limits_.max_count, count - begin)),
            &requests_.emplace_back(MPI_REQUEST_NULL));
    }
  };
  for (int step = 1; step < size_; ++step) {
    const int from = (rank_ - step + size_) % size_;
    const auto i = static_cast<std::size_t>(from);
    messages(in.counts[i], [&](std::int64_t begin, int count, MPI_Request* request) {
      MW_MPI(MPI_Irecv(advance(recv, in.begins[i] + begin, dtype), count, type, from, 0, comm_,
                       request));
    });
  }
  for (int step = 1; step < size_; ++step) {
    const int to = (rank_ + step) % size_;
    const auto i = static_cast<std::size_t>(to);
    messages(out.counts[i], [&](std::int64_t begin, int count, MPI_Request* request) {
      MW_MPI(MPI_Isend(advance(send, out.begins[i] + begin, dtype), count, type, to, 0, comm_,
                       request));
    });
  }
  MW_MPI(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
}

void MpiCommunicator::reduce_scatter(const void* send, void* recv,
                                     std::span<const std::int64_t> counts, DType dtype,
                                     Reduction reduction) {
  check_counts(counts);
  MW_CHECK(dtype != DType::kUInt8, "no reduction of {}", to_string(dtype));
  if (SharedGroup* memory = shared()) {
    return memory->reduce_scatter(send, recv, counts, dtype, reduction);
  }
  const auto share = limits_.chunk_bytes / size_of(dtype) / static_cast<std::size_t>(size_);
  const auto piece = std::max<std::int64_t>(1, static_cast<std::int64_t>(share));
  const std::int64_t largest = *std::max_element(counts.begin(), counts.end());
  for (std::int64_t begin = 0; begin < largest; begin += piece) {
    std::int64_t block = 0;
    for (std::size_t j = 0; j < counts.size(); ++j) {
      const std::int64_t first = std::min(begin, counts[j]);
      out_.begins[j] = block + first;
      out_.counts[j] = std::min(begin + piece, counts[j]) - first;
      block += counts[j];
    }
    reduce_piece(send, out_, advance(recv, begin, dtype), dtype, reduction);
  }
}

void MpiCommunicator::all_gather(const void* send, void* recv, std::span<const std::int64_t> counts,
                                 DType dtype) {
  check_counts(counts);
  if (SharedGroup* memory = shared()) return memory->all_gather(send, recv, counts, dtype);
  const std::int64_t mine = counts[static_cast<std::size_t>(rank_)];
  std::int64_t begin = 0;
  for (std::size_t j = 0; j < counts.size(); ++j) {
    out_.begins[j] = 0;
    out_.counts[j] = mine;
    in_.begins[j] = begin;
    in_.counts[j] = counts[j];
    begin += counts[j];
  }
  if (begin > limits_.max_count) {
    const std::int64_t own = in_.begins[static_cast<std::size_t>(rank_)];
    if (mine > 0) std::memcpy(advance(recv, own, dtype), send, bytes_of(mine, dtype));
    return exchange(send, out_, recv, in_, dtype);
  }
  std::copy(in_.counts.begin(), in_.counts.end(), counts_.begin());
  std::copy(in_.begins.begin(), in_.begins.end(), displacements_.begin());
  MW_MPI(MPI_Allgatherv(send, static_cast<int>(mine), mpi_type(dtype), recv, counts_.data(),
                        displacements_.data(), mpi_type(dtype), comm_));
}

void MpiCommunicator::all_to_all(const void* send, std::span<const std::int64_t> send_counts,
                                 void* recv, std::span<const std::int64_t> recv_counts,
                                 DType dtype) {
  check_counts(send_counts);
  check_counts(recv_counts);
  for (int j = 0; j < size_; ++j) {
    const auto i = static_cast<std::size_t>(j);
    out_.begins[i] = offset_of(send_counts, j);
    out_.counts[i] = send_counts[i];
    in_.begins[i] = offset_of(recv_counts, j);
    in_.counts[i] = recv_counts[i];
  }
  const auto me = static_cast<std::size_t>(rank_);
  MW_CHECK(out_.counts[me] == in_.counts[me]);
  if (in_.counts[me] > 0) {
    std::memcpy(advance(recv, in_.begins[me], dtype), advance(send, out_.begins[me], dtype),
                bytes_of(in_.counts[me], dtype));
  }
  exchange(send, out_, recv, in_, dtype);
}

std::shared_ptr<std::byte> MpiCommunicator::allocate(std::int64_t bytes) {
  if (shared() == nullptr) return nullptr;
  arenas_ = SharedArenas::create(comm_, bytes);
  return arenas_ ? arenas_->memory(rank_) : nullptr;
}

std::optional<CallBuffers> MpiCommunicator::direct_buffers(const CollectiveCall& call) const {
  const auto size = static_cast<std::size_t>(size_);
  CallBuffers buffers{.sends = std::vector<const std::byte*>(size),
                      .recvs = std::vector<std::byte*>(size)};
  buffers.sends[static_cast<std::size_t>(rank_)] = static_cast<const std::byte*>(call.send);
  buffers.recvs[static_cast<std::size_t>(rank_)] = static_cast<std::byte*>(call.recv);
  if (slot_bytes(call) > 0) return buffers;
  std::array<std::int64_t, 2> mine{-1, -1};
  if (arenas_) {
    const bool to_all = call.kind == CollectiveCall::Kind::kAllReduce;
    const std::size_t sent = bytes_of(sent_by(call, rank_), call.dtype);
    mine[0] = arenas_->find(rank_, call.send, sent).value_or(-1);
    mine[1] = to_all ? arenas_->find(rank_, call.recv, sent).value_or(-1) : 0;
  }
  std::vector<std::array<std::int64_t, 2>> all(size);
  MW_MPI(MPI_Allgather(mine.data(), 2, MPI_INT64_T, all.data(), 2, MPI_INT64_T, comm_));
  for (std::size_t i = 0; i < size; ++i) {
    if (all[i][0] < 0 || all[i][1] < 0) return std::nullopt;
    std::byte* memory = arenas_->memory(static_cast<int>(i)).get();
    buffers.sends[i] = memory + all[i][0];
    buffers.recvs[i] = memory + all[i][1];
  }
  if (call.kind == CollectiveCall::Kind::kAllToAll) {
    std::vector<std::int64_t> counts(size * size);
    MW_MPI(MPI_Allgather(call.counts.data(), size_, MPI_INT64_T, counts.data(), size_, MPI_INT64_T,
                         comm_));
    for (std::size_t i = 0; i < size; ++i) {
      const auto first = counts.begin() + static_cast<std::ptrdiff_t>(i * size);
      buffers.send_counts.emplace_back(first, first + size_);
    }
  }
  return buffers;
}

std::unique_ptr<PreparedCall> MpiCommunicator::prepare(const CollectiveCall& call) {
  check_call(call, size_);
  const int tag = next_tag_;
  next_tag_ += 2;
  if (shared() == nullptr) return message_call(comm_, limits_, tag, call);
  const std::optional<CallBuffers> buffers = direct_buffers(call);
  if (!buffers) return message_call(comm_, limits_, tag, call);
  const std::size_t bytes = board_bytes(call, size_);
  std::byte* memory = map_shared_memory(comm_, bytes);
  if (memory == nullptr) return message_call(comm_, limits_, tag, call);
  CallPeers peers{.rank = rank_, .size = size_, .spins = shared()->spins(), .own_buffers = false};
  peers.memory = {memory, [bytes](void* mapped) { munmap(mapped, bytes); }};
  peers.arenas = arenas_;
  peers.progress = progress_messages;
  return direct_call(call, *buffers, memory, std::move(peers));
}

void MpiCommunicator::broadcast(void* data, std::size_t bytes, int root) {
  MW_CHECK(root >= 0 && root < size_, "root {} of {}", root, size_);
  const auto most = static_cast<std::size_t>(limits_.max_count);
  for (std::size_t begin = 0; begin < bytes; begin += most) {
    const int count = static_cast<int>(std::min(most, bytes - begin));
    MW_MPI(MPI_Bcast(static_cast<std::byte*>(data) + begin, count, MPI_BYTE, root, comm_));
  }
}

void MpiCommunicator::abort(int exit_code) noexcept {
  // A job that was ended is no success, whatever its members say.
  MPI_Abort(comm_, exit_code == 0 ? static_cast<int>(ExitCode::kCommunication) : exit_code);
}

}  // namespace

std::unique_ptr<Communicator> mpi_communicator(MPI_Comm comm, const MpiLimits& limits) {
  return std::make_unique<MpiCommunicator>(comm, limits);
}

}  // namespace meshwork
