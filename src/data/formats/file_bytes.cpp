#include "data/formats/file_bytes.h"

#include <algorithm>

#include "base/error.h"
#include "base/huge_pages.h"
#include "data/formats/deflate.h"
#include "data/formats/gunzip.h"

namespace meshwork::data {
namespace {

[[noreturn]] void fail_size(const std::string& path, std::size_t size, std::size_t expected,
                            const std::string& why) {
  fail(ExitCode::kFile, "{}: {} bytes, but {} needs {}; the file is {}", path, size, why, expected,
       size < expected ? "cut off, fetch it again" : "damaged or has something else appended");
}

}  // namespace

HeapBytes HeapBytes::of_size(std::size_t size) {
  const std::size_t alignment = size < kHugePage ? alignof(std::max_align_t) : kHugePage;
  // A whole number of alignments, and not 0, for which null would be no failure.
  const std::size_t padded = (std::max<std::size_t>(size, 1) + alignment - 1) & ~(alignment - 1);
  void* data = padded < size ? nullptr : std::aligned_alloc(alignment, padded);
  if (data == nullptr) fail(ExitCode::kFile, "no memory for {} bytes of data", size);
  prefer_huge_pages(data, size);
  return {decltype(HeapBytes::data)(static_cast<std::byte*>(data)), size};
}

FileBytes::FileBytes(const std::string& path) : file_(path), gzip_(is_gzip(file_.bytes())) {}

HeapBytes FileBytes::head(std::size_t count) const {
  HeapBytes head = HeapBytes::of_size(count);
  if (gzip_) {
    head.size = gunzip(file_, head.span());
  } else {
    head.size = std::min(count, file_.bytes().size());
    std::copy_n(file_.bytes().begin(), head.size, head.data.get());
  }
  return head;
}

void FileBytes::expect_size(std::size_t size, const std::string& why) {
  expected_ = size;
  why_ = why;
  const std::size_t have = file_.bytes().size();
  if (!gzip_ && have != size) fail_size(path(), have, size, why);
  if (!gzip_) return;
  if (size / kBestDeflateRatio > have) fail_size(path(), have, size, why + " however compressed");
  // One byte more than needed: gunzip then meets the end of the stream and checks its checksum.
  unpacked_ = HeapBytes::of_size(size + 1);
}

std::span<const std::byte> FileBytes::all() const {
  if (!gzip_) return file_.bytes();
  if (is_unpacked_.load(std::memory_order_acquire)) return unpacked_.span();
  const std::lock_guard lock(mutex_);
  if (is_unpacked_.load(std::memory_order_relaxed)) return unpacked_.span();
  if (why_.empty()) {
    expected_ = gunzip_size(file_);
    unpacked_ = HeapBytes::of_size(expected_ + 1);
  }
  const std::size_t have = gunzip(file_, {unpacked_.data.get(), expected_ + 1});
  if (have < expected_) fail_size(path(), have, expected_, why_);
  if (have > expected_) fail_size(path(), gunzip_size(file_), expected_, why_);
  unpacked_.size = expected_;
  is_unpacked_.store(true, std::memory_order_release);
  return unpacked_.span();
}

std::size_t FileBytes::size() const { return gzip_ ? gunzip_size(file_) : file_.bytes().size(); }

void FileBytes::prepare() const {
  if (gzip_) {
    all();
  } else {
    file_.read_ahead();
  }
}

}  // namespace meshwork::data
