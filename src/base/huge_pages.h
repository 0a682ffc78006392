#pragma once

#include <cstddef>
#include <memory>

namespace meshwork {

/// What the system clears and maps at once where it can, instead of pages of 4 KiB.
constexpr std::size_t kHugePage = std::size_t{1} << 21U;

/// Bytes from an address to the first huge page behind it, or at it.
std::size_t bytes_to_huge_page(const void* address);

/// Lets the system take huge pages for those that lie within these bytes. Changes no results.
void prefer_huge_pages(void* begin, std::size_t bytes);

/// Puts these bytes, which nobody has written yet, into huge pages at once, shared ones too, as far
/// as the system can; they take resident memory from then on. Changes no results.
void take_huge_pages(void* begin, std::size_t bytes);

/// Zeroed memory at the start of a page, of huge ones if it is large. More than 64 KiB take no
/// resident memory before they are touched. Null if there is none; never null for 0 bytes.
std::shared_ptr<std::byte> zeroed_pages(std::size_t bytes);

}  // namespace meshwork
