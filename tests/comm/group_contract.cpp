#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "contract.h"
#include "contract_case.h"

namespace meshwork::test {
namespace {

/// The sum of 2^rank tells who took part.
void check_members(Communicator& comm, std::int64_t expected, std::int64_t mine) {
  std::int64_t sum = mine;
  run_once(comm, {.send = &sum, .recv = &sum, .dtype = DType::kInt64, .count = 1});
  CHECK(sum == expected);
}

void check_pairs_and_halves(Communicator& comm) {
  const int size = comm.size();
  const int rank = comm.rank();
  // Neighbours, listed backwards: the higher one becomes rank 0.
  const int low = rank / 2 * 2;
  std::vector<int> pair{low};
  if (low + 1 < size) pair.insert(pair.begin(), low + 1);
  const auto neighbours = comm.group(pair);
  CHECK(neighbours->size() == static_cast<int>(pair.size()));
  CHECK(pair[static_cast<std::size_t>(neighbours->rank())] == rank);
  std::int64_t members = 0;
  for (const int member : pair) members += std::int64_t{1} << member;
  check_members(*neighbours, members, std::int64_t{1} << rank);
  check_all_reduce(*neighbours);
  // A group of a group: even ranks, then their two halves.
  if (rank % 2 != 0) return;
  std::vector<int> even;
  for (int r = 0; r < size; r += 2) even.push_back(r);
  const auto evens = comm.group(even);
  CHECK(evens->size() == (size + 1) / 2);
  std::vector<int> half;
  const bool upper = evens->rank() >= evens->size() / 2;
  for (int r = 0; r < evens->size(); ++r) {
    if ((r >= evens->size() / 2) == upper) half.push_back(r);
  }
  const auto inner = evens->group(half);
  check_reduce_scatter(*inner);
  check_all_gather(*inner);
}

}  // namespace

void check_groups(World& world) {
  Communicator& comm = *world.devices;
  check_pairs_and_halves(comm);
  // Two groups of the same members do not mix, nor does what is done between on the whole.
  std::vector<int> backwards;
  for (int r = comm.size(); r-- > 0;) backwards.push_back(r);
  const auto first = comm.group(backwards);
  const auto second = comm.group(backwards);
  CHECK(first->rank() == comm.size() - 1 - comm.rank());
  for (int i = 0; i < 20; ++i) {
    check_members(*first, std::int64_t{comm.size()} * i, i);
    check_members(*second, std::int64_t{comm.size()} * 3, 3);
    check_members(comm, std::int64_t{comm.size()} * 5, 5);
  }
  Case<float>(*second, {.sent = {{5000}}, .in_place = true}).run(1);
  // Made and dropped again and again, of the last members only.
  if (comm.rank() >= comm.size() / 2) {
    std::vector<int> upper;
    for (int r = comm.size() / 2; r < comm.size(); ++r) upper.push_back(r);
    for (int i = 0; i < 10; ++i) {
      const auto group = comm.group(upper);
      check_members(*group, group->size(), 1);
    }
  }
  world.hosts->barrier();
}

}  // namespace meshwork::test
