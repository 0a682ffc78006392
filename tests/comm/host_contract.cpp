#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <limits>

#include "contract_case.h"

namespace meshwork::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of_member(int rank, std::int64_t count, int round) {
  return values<std::uint8_t>(rank, 0, count, round);
}

void check_gather(HostGroup& hosts, std::int64_t count, int round) {
  const Bytes mine = bytes_of_member(hosts.rank(), count, round);
  Bytes all(mine.size() * static_cast<std::size_t>(hosts.size()));
  hosts.all_gather(mine.data(), mine.size(), all.data());
  Bytes expected;
  for (int r = 0; r < hosts.size(); ++r) {
    const Bytes block = bytes_of_member(r, count, round);
    expected.insert(expected.end(), block.begin(), block.end());
  }
  CHECK_MESSAGE(all == expected, fmt::format("all_gather of {}", count));
}

void check_broadcast(HostGroup& hosts, std::int64_t count, int root, int round) {
  Bytes data = bytes_of_member(hosts.rank(), count, round);
  hosts.broadcast(data.data(), data.size(), root);
  CHECK_MESSAGE(data == bytes_of_member(root, count, round),
                fmt::format("broadcast of {} from {}", count, root));
}

void check_numbers(HostGroup& hosts) {
  const std::vector<std::int64_t> ranks = gather(hosts, -hosts.rank());
  REQUIRE(ranks.size() == static_cast<std::size_t>(hosts.size()));
  for (std::size_t r = 0; r < ranks.size(); ++r) CHECK(ranks[r] == -static_cast<std::int64_t>(r));
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t size = hosts.size();
  const std::vector<std::int64_t> sums =
      sum_over_members(hosts, {hosts.rank(), 1, hosts.rank() == 0 ? most : 2, -5});
  const auto wrapped = static_cast<std::uint64_t>(most) + 2 * static_cast<std::uint64_t>(size - 1);
  CHECK(sums == std::vector<std::int64_t>{size * (size - 1) / 2, size,
                                          static_cast<std::int64_t>(wrapped), -5 * size});
  CHECK(sum_over_members(hosts, {}).empty());
}

void check_texts(HostGroup& hosts) {
  const auto text_of = [](int rank) {
    return std::string(static_cast<std::size_t>(rank) * 1000, static_cast<char>('a' + rank));
  };
  const std::vector<std::string> all = gather_texts(hosts, text_of(hosts.rank()));
  REQUIRE(all.size() == static_cast<std::size_t>(hosts.size()));
  for (int r = 0; r < hosts.size(); ++r) CHECK(all[static_cast<std::size_t>(r)] == text_of(r));
  for (int root = 0; root < hosts.size(); ++root) {
    std::string text = text_of(hosts.rank());
    broadcast_text(hosts, text, root);
    CHECK(text == text_of(root));
  }
}

}  // namespace

void check_host_group(HostGroup& hosts) {
  int round = 0;
  for (const std::int64_t bytes : {0, 1, 8, 100, 4096, 4097, 100003}) {
    check_gather(hosts, bytes, ++round);
    for (int root = 0; root < hosts.size(); ++root) check_broadcast(hosts, bytes, root, ++round);
    hosts.barrier();
  }
  check_numbers(hosts);
  check_texts(hosts);
}

void check_repeated_calls(HostGroup& hosts, int rounds) {
  int wrong = 0;
  const int size = hosts.size();
  std::array<std::int32_t, 1024> data{};
  std::vector<std::int32_t> all(data.size() * static_cast<std::size_t>(size));
  for (int round = 0; round < rounds; ++round) {
    const std::size_t count = hash(99, round, 1) % (round % 7 == 0 ? 1024 : 40) + 1;
    std::fill_n(data.begin(), count, hosts.rank() + round);
    if (round % 3 == 0) {
      hosts.all_gather(data.data(), count * 4, all.data());
      for (int r = 0; r < size; ++r) {
        wrong += all[static_cast<std::size_t>(r + 1) * count - 1] == r + round ? 0 : 1;
      }
    } else if (round % 3 == 1) {
      hosts.broadcast(data.data(), count * 4, round % size);
      wrong += data[count - 1] == round % size + round ? 0 : 1;
    } else {
      hosts.barrier();
    }
    std::fill_n(data.begin(), count, -1);
  }
  CHECK(wrong == 0);
}

}  // namespace meshwork::test
