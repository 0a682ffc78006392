#include "comm/shared_arenas.h"

#include <sys/mman.h>

#include "base/huge_pages.h"
#include "base/local_work.h"
#include "comm/mpi_check.h"
#include "comm/shared_memory.h"

namespace meshwork {
namespace {

constexpr std::size_t kPage = 4096;

/// Of a large arena huge ones.
std::size_t whole_pages(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  const std::size_t page = size < kHugePage ? kPage : kHugePage;
  return (size + page - 1) / page * page;
}

}  // namespace

std::shared_ptr<const SharedArenas> SharedArenas::create(MPI_Comm comm, std::int64_t bytes) {
  int size = 1;
  MW_MPI(MPI_Comm_size(comm, &size));
  std::vector<std::int64_t> all(static_cast<std::size_t>(size));
  MW_MPI(MPI_Allgather(&bytes, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, comm));
  std::size_t total = kPage;
  for (const std::int64_t one : all) total += whole_pages(one);
  std::byte* memory = map_shared_memory(comm, total);
  if (memory == nullptr) return nullptr;
  auto result = std::make_shared<SharedArenas>();
  result->mapping_ = {memory, [total](std::byte* mapped) { munmap(mapped, total); }};
  for (const std::int64_t one : all) {
    result->arenas_.push_back({memory, static_cast<std::size_t>(one)});
    memory += whole_pages(one);
  }
  int rank = 0;
  MW_MPI(MPI_Comm_rank(comm, &rank));
  const Arena& mine = result->arenas_[static_cast<std::size_t>(rank)];
  const LocalWork work;  // the system clears each page
  take_huge_pages(mine.begin, mine.bytes);
  return result;
}

std::shared_ptr<const SharedArenas> SharedArenas::of(std::span<const int> members) const {
  auto result = std::make_shared<SharedArenas>();
  result->mapping_ = mapping_;
  for (const int member : members) {
    result->arenas_.push_back(arenas_[static_cast<std::size_t>(member)]);
  }
  return result;
}

std::shared_ptr<std::byte> SharedArenas::memory(int rank) const {
  return {mapping_, arenas_[static_cast<std::size_t>(rank)].begin};
}

std::optional<std::int64_t> SharedArenas::find(int rank, const void* begin,
                                               std::size_t bytes) const {
  const Arena& arena = arenas_[static_cast<std::size_t>(rank)];
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  const auto start = reinterpret_cast<std::uintptr_t>(arena.begin);
  if (first < start || first + bytes > start + arena.bytes) return std::nullopt;
  return static_cast<std::int64_t>(first - start);
}

}  // namespace meshwork
