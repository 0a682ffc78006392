#pragma once

#include <cstdint>
#include <span>

namespace meshwork {

/// Memory that is in use from one instruction to another.
struct Buffer {
  std::int64_t bytes = 0;
  int first = 0;  ///< instruction that writes it first; -1: filled before the program
  int last = 0;   ///< instruction that reads it last
  std::int64_t offset = -1;
};

/// The most bytes that buffers fill at once.
std::int64_t most_in_use(std::span<const Buffer> buffers);

/// Gives every buffer an offset from `base` on, at which nothing else is while it is in use. They
/// are placed one after the other, each as low as it can be: the largest first and, where that
/// leaves holes, in other orders too, of which the tightest wins. Returns where the last one ends.
std::int64_t pack(std::span<Buffer> buffers, std::int64_t base);

}  // namespace meshwork
