#include "comm/host_group.h"

#include <algorithm>

namespace meshwork {

std::vector<std::int64_t> gather(HostGroup& group, std::int64_t mine) {
  return gather_all(group, mine);
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

std::vector<std::string> gather_texts(HostGroup& group, const std::string& mine) {
  const std::vector<std::int64_t> bytes = gather(group, static_cast<std::int64_t>(mine.size()));
  const auto most = static_cast<std::size_t>(*std::max_element(bytes.begin(), bytes.end()));
  std::string padded = mine, all(most * bytes.size(), '\0');
  padded.resize(most);
  if (most > 0) group.all_gather(padded.data(), most, all.data());
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    texts.push_back(all.substr(i * most, static_cast<std::size_t>(bytes[i])));
  }
  return texts;
}

void broadcast_text(HostGroup& group, std::string& text, int root) {
  auto bytes = static_cast<std::int64_t>(text.size());
  group.broadcast(&bytes, sizeof bytes, root);
  text.resize(static_cast<std::size_t>(bytes));
  group.broadcast(text.data(), text.size(), root);
}

}  // namespace meshwork
