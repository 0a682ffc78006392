#include "plan/packing.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "base/index.h"

namespace meshwork {
namespace {

using Key = double (*)(const Buffer& buffer);

double bytes(const Buffer& buffer) { return static_cast<double>(buffer.bytes); }
double life(const Buffer& buffer) { return static_cast<double>(buffer.last - buffer.first + 1); }

/// Those buffers go first for which it is greatest.
constexpr std::array<Key, 5> kKeys{
    bytes,
    life,
    [](const Buffer& buffer) { return bytes(buffer) * life(buffer); },
    [](const Buffer& buffer) { return -static_cast<double>(buffer.first); },
    [](const Buffer& buffer) { return static_cast<double>(buffer.last); },
};

std::vector<Buffer*> in_order(std::span<Buffer> buffers, Key key) {
  std::vector<std::pair<double, Buffer*>> keyed;
  for (Buffer& buffer : buffers) keyed.emplace_back(-key(buffer), &buffer);
  std::sort(keyed.begin(), keyed.end());
  std::vector<Buffer*> order;
  for (const auto& [negative_key, buffer] : keyed) order.push_back(buffer);
  return order;
}

/// Where the last one ends; `limit` where that is no less.
std::int64_t place(const std::vector<Buffer*>& order, std::int64_t base, std::int64_t limit) {
  std::int64_t end = base;
  std::vector<Buffer*> placed;  // by offset
  for (Buffer* buffer : order) {
    std::int64_t offset = base;
    for (const Buffer* other : placed) {
      const bool overlaps = other->first <= buffer->last && buffer->first <= other->last;
      if (!overlaps) continue;
      if (other->offset >= offset + buffer->bytes) break;
      offset = std::max(offset, other->offset + other->bytes);
    }
    if (offset + buffer->bytes >= limit) return limit;
    buffer->offset = offset;
    const auto by_offset = [](const Buffer* x, const Buffer* y) { return x->offset < y->offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), buffer, by_offset), buffer);
    end = std::max(end, offset + buffer->bytes);
  }
  return end;
}

}  // namespace

std::int64_t most_in_use(std::span<const Buffer> buffers) {
  int last = 0;
  for (const Buffer& buffer : buffers) last = std::max(last, buffer.last);
  std::vector<std::int64_t> change(static_cast<std::size_t>(last) + 3, 0);  // from -1 to last + 1
  for (const Buffer& buffer : buffers) {
    change[index(buffer.first + 1)] += buffer.bytes;
    change[index(buffer.last + 2)] -= buffer.bytes;
  }
  std::int64_t now = 0;
  std::int64_t most = 0;
  for (const std::int64_t bytes : change) most = std::max(most, now += bytes);
  return most;
}

std::int64_t pack(std::span<Buffer> buffers, std::int64_t base) {
  const std::int64_t least = base + most_in_use(buffers);
  std::int64_t tightest = std::numeric_limits<std::int64_t>::max();
  std::vector<Buffer> best;
  for (const Key key : kKeys) {
    const std::int64_t end = place(in_order(buffers, key), base, tightest);
    if (end < tightest) {
      tightest = end;
      best.assign(buffers.begin(), buffers.end());
    }
    if (tightest == least) break;
  }
  std::copy(best.begin(), best.end(), buffers.begin());
  return tightest;
}

}  // namespace meshwork
