#include "comm/chunks.h"

#include "comm/blocks.h"

namespace meshwork {

Chunks::Chunks(const CollectiveCall& call, int size, std::size_t bytes)
    : call_(call),
      size_(size),
      share_(
          std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes / size_of(call.dtype)) / size)),
      begins_(static_cast<std::size_t>(size)),
      counts_(static_cast<std::size_t>(size)) {
  if (is_all_reduce()) {
    whole_ = call.count;
    return;
  }
  whole_ = *std::ranges::max_element(call.counts);
  blocks_ = begins_of(call.counts);
}

bool Chunks::next() {
  const std::int64_t end = begin_ + (is_all_reduce() ? share_ * size_ : share_);
  if (end >= whole_) return false;
  move_to(end);
  return true;
}

std::int64_t Chunks::most() const {
  const auto line = static_cast<std::int64_t>(64 / size_of(call_.dtype));
  return share_ + line;  // parts of an all-reduce are whole lines
}

std::int64_t Chunks::received(int member) const {
  const auto i = static_cast<std::size_t>(member);
  return is_all_reduce() ? begins_[i] : std::min(begin_, call_.counts[i]);
}

void Chunks::move_to(std::int64_t begin) {
  begin_ = begin;
  const std::int64_t end = std::min(begin + (is_all_reduce() ? share_ * size_ : share_), whole_);
  for (int member = 0; member < size_; ++member) {
    const auto i = static_cast<std::size_t>(member);
    if (is_all_reduce()) {
      const std::int64_t count = end - begin;
      begins_[i] = begin + part_begin(count, member, size_, call_.dtype);
      counts_[i] = begin + part_begin(count, member + 1, size_, call_.dtype) - begins_[i];
    } else {
      const std::int64_t first = std::min(begin, call_.counts[i]);
      begins_[i] = blocks_[i] + first;
      counts_[i] = std::min(end, call_.counts[i]) - first;
    }
  }
}

}  // namespace meshwork
