#include "comm/host_group.h"

namespace meshwork {

std::vector<std::int64_t> gather(HostGroup& group, std::int64_t mine) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(group.size()));
  group.all_gather(&mine, sizeof mine, all.data());
  return all;
}

std::vector<std::int64_t> sum_over_members(HostGroup& group,
                                           const std::vector<std::int64_t>& mine) {
  std::vector<std::int64_t> all(mine.size() * static_cast<std::size_t>(group.size()));
  group.all_gather(mine.data(), mine.size() * sizeof(std::int64_t), all.data());
  std::vector<std::uint64_t> sums(mine.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    sums[i % mine.size()] += static_cast<std::uint64_t>(all[i]);
  }
  return {sums.begin(), sums.end()};
}

}  // namespace meshwork
