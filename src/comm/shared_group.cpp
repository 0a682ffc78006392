#include "comm/shared_group.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "comm/blocks.h"
#include "comm/shared_memory.h"
#include "comm/tree_sum.h"
#include "machine/launch.h"
#include "machine/topology.h"

namespace meshwork {
namespace {

// Data up to this size is handed out in a slot of its own, which saves a second meeting.
constexpr std::size_t kSlotBytes = 4096;
constexpr std::size_t kHeaderBytes = 4096;
constexpr std::size_t kLeastPiece = 128;  // of a stage, for each rank: whole lines
static_assert(sizeof(SharedBarrier) <= kHeaderBytes);

// Some 100 us: longer than ranks of a step usually differ, shorter than a scheduler's slice.
constexpr int kSpins = 20000;

}  // namespace

void progress_messages() {
  int found = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
}

std::size_t SharedGroup::bytes_needed(int size, std::size_t stage_bytes) {
  const auto n = static_cast<std::size_t>(size);
  return kHeaderBytes + 2 * n * kSlotBytes + (n + 1) * stage_bytes;
}

std::unique_ptr<SharedGroup> SharedGroup::create(MPI_Comm comm, std::size_t stage_bytes) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  stage_bytes = std::max(stage_bytes, kLeastPiece * static_cast<std::size_t>(size));
  std::unique_ptr<SharedGroup> group(new SharedGroup(rank, size, stage_bytes));
  group->mapped_bytes_ = bytes_needed(size, stage_bytes);
  group->memory_ = map_shared_memory(comm, group->mapped_bytes_);
  if (group->memory_ == nullptr) return nullptr;
  return group;
}

SharedGroup::SharedGroup(int rank, int size, std::size_t stage_bytes)
    : rank_(rank),
      size_(size),
      spins_(launch_from_environment().local_size <= available_cores() ? kSpins : 0),
      stage_bytes_(stage_bytes),
      inputs_(static_cast<std::size_t>(size)) {}

SharedGroup::~SharedGroup() {
  if (memory_ != nullptr) munmap(memory_, mapped_bytes_);
}

std::byte* SharedGroup::slot(int member) const {
  const std::size_t index =
      parity_ * static_cast<std::size_t>(size_) + static_cast<std::size_t>(member);
  return memory_ + kHeaderBytes + index * kSlotBytes;
}

std::byte* SharedGroup::stage(int member) const {
  return memory_ + kHeaderBytes + 2 * static_cast<std::size_t>(size_) * kSlotBytes +
         static_cast<std::size_t>(member) * stage_bytes_;
}

void SharedGroup::barrier() {
  auto* barrier = reinterpret_cast<SharedBarrier*>(memory_);
  barrier->meet(static_cast<std::uint32_t>(size_), spins_, progress_messages);
}

void SharedGroup::all_reduce(const void* send, void* recv, std::int64_t count, DType dtype,
                             Reduction reduction) {
  if (bytes_of(count, dtype) <= kSlotBytes) {
    return reduce_small(send, recv, count, dtype, reduction);
  }
  const auto chunk = static_cast<std::int64_t>(stage_bytes_ / size_of(dtype));
  for (std::int64_t begin = 0; begin < count; begin += chunk) {
    reduce_chunk(advance(send, begin, dtype), advance(recv, begin, dtype),
                 std::min(chunk, count - begin), dtype, reduction);
  }
}

// One meeting is enough: a slot is written again only after the next meeting, when all have read.
void SharedGroup::reduce_small(const void* send, void* recv, std::int64_t count, DType dtype,
                               Reduction reduction) {
  parity_ = 1 - parity_;
  if (count > 0) std::memcpy(slot(rank_), send, bytes_of(count, dtype));
  barrier();
  for (int j = 0; j < size_; ++j) inputs_[static_cast<std::size_t>(j)] = slot(j);
  tree_reduce(inputs_, recv, count, dtype, reduction);
}

void SharedGroup::reduce_chunk(const void* send, void* recv, std::int64_t count, DType dtype,
                               Reduction reduction) {
  const std::int64_t begin = part_begin(count, rank_, size_, dtype);
  const std::int64_t end = part_begin(count, rank_ + 1, size_, dtype);
  // All but this rank's own part, which nobody else reads.
  std::memcpy(stage(rank_), send, bytes_of(begin, dtype));
  std::memcpy(advance(stage(rank_), end, dtype), advance(send, end, dtype),
              bytes_of(count - end, dtype));
  barrier();
  for (int j = 0; j < size_; ++j) {
    inputs_[static_cast<std::size_t>(j)] = advance(j == rank_ ? send : stage(j), begin, dtype);
  }
  std::byte* mine = advance(recv, begin, dtype);
  tree_reduce(inputs_, mine, end - begin, dtype, reduction);
  std::memcpy(advance(result(), begin, dtype), mine, bytes_of(end - begin, dtype));
  barrier();
  std::memcpy(recv, result(), bytes_of(begin, dtype));
  std::memcpy(advance(recv, end, dtype), advance(result(), end, dtype),
              bytes_of(count - end, dtype));
}

void SharedGroup::reduce_scatter(const void* send, void* recv, std::span<const std::int64_t> counts,
                                 DType dtype, Reduction reduction) {
  const std::size_t lines = stage_bytes_ / 64 / static_cast<std::size_t>(size_);
  const auto piece = static_cast<std::int64_t>(lines * 64 / size_of(dtype));
  const std::int64_t largest = *std::max_element(counts.begin(), counts.end());
  const std::int64_t mine = counts[static_cast<std::size_t>(rank_)];
  for (std::int64_t begin = 0; begin < largest; begin += piece) {
    const auto part = [&](std::int64_t count) {
      return std::min(begin + piece, count) - std::min(begin, count);
    };
    std::int64_t block = 0;
    for (int j = 0; j < size_; ++j) {
      const std::int64_t count = counts[static_cast<std::size_t>(j)];
      const void* source = advance(send, block + std::min(begin, count), dtype);
      if (j == rank_) {
        inputs_[static_cast<std::size_t>(j)] = source;
      } else {
        std::memcpy(advance(stage(rank_), j * piece, dtype), source, bytes_of(part(count), dtype));
      }
      block += count;
    }
    barrier();
    for (int j = 0; j < size_; ++j) {
      if (j != rank_) {
        inputs_[static_cast<std::size_t>(j)] = advance(stage(j), rank_ * piece, dtype);
      }
    }
    tree_reduce(inputs_, advance(recv, std::min(begin, mine), dtype), part(mine), dtype, reduction);
    barrier();
  }
}

void SharedGroup::gather_small(const void* send, void* recv, std::span<const std::int64_t> counts,
                               DType dtype) {
  parity_ = 1 - parity_;
  const std::int64_t mine = counts[static_cast<std::size_t>(rank_)];
  if (mine > 0) std::memcpy(slot(rank_), send, bytes_of(mine, dtype));
  barrier();
  std::byte* to = static_cast<std::byte*>(recv);
  for (int j = 0; j < size_; ++j) {
    const std::size_t bytes = bytes_of(counts[static_cast<std::size_t>(j)], dtype);
    if (bytes > 0) std::memcpy(to, slot(j), bytes);
    to += bytes;
  }
}

void SharedGroup::all_gather(const void* send, void* recv, std::span<const std::int64_t> counts,
                             DType dtype) {
  const std::int64_t largest = *std::max_element(counts.begin(), counts.end());
  if (bytes_of(largest, dtype) <= kSlotBytes) return gather_small(send, recv, counts, dtype);
  const auto piece = static_cast<std::int64_t>(stage_bytes_ / size_of(dtype));
  for (std::int64_t begin = 0; begin < largest; begin += piece) {
    const auto part = [&](int j) {
      const std::int64_t count = counts[static_cast<std::size_t>(j)];
      return bytes_of(std::min(begin + piece, count) - std::min(begin, count), dtype);
    };
    const void* mine = advance(send, begin, dtype);
    if (part(rank_) > 0) std::memcpy(stage(rank_), mine, part(rank_));
    barrier();
    for (int step = 0; step < size_; ++step) {
      const int j = (rank_ + step) % size_;
      if (part(j) == 0) continue;
      std::memcpy(advance(recv, offset_of(counts, j) + begin, dtype), j == rank_ ? mine : stage(j),
                  part(j));
    }
    barrier();
  }
}

}  // namespace meshwork
