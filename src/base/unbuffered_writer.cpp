#include "base/unbuffered_writer.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/huge_pages.h"

namespace meshwork {
namespace {

/// Large enough for a disk, or several of them, to work at their pace on one block at a time.
constexpr std::size_t kBlock = std::size_t{8} << 20U;

}  // namespace

UnbufferedWriter::UnbufferedWriter(const std::string& path)
    : file_(File::create_unbuffered(path)), block_(zeroed_pages(kBlock)) {
  if (block_ == nullptr) throw std::bad_alloc();
}

void UnbufferedWriter::append(const void* data, std::size_t bytes) {
  const auto* from = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    const std::size_t count = std::min(bytes, kBlock - filled_);
    std::memcpy(block_.get() + filled_, from, count);
    filled_ += count;
    from += count;
    bytes -= count;
    if (filled_ == kBlock) write_block();
  }
}

void UnbufferedWriter::write_block() {
  file_.write_at(block_.get(), filled_, written_);
  written_ += std::exchange(filled_, 0);
}

void UnbufferedWriter::finish() {
  write_block();
  file_.sync();
  file_.close();
}

}  // namespace meshwork
