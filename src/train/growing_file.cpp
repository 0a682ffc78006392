#include "train/growing_file.h"

#include <algorithm>

#include "base/error.h"

namespace meshwork {
namespace {

std::uint64_t end_of_last_line(const std::string& path) {
  constexpr std::uint64_t kBlock = std::uint64_t{64} << 10U;
  const File file = File::open(path);
  for (std::uint64_t end = file.size(); end > 0;) {
    const std::uint64_t begin = end - std::min(end, kBlock);
    std::string block(end - begin, '\0');
    file.read_at(block.data(), block.size(), begin);
    const std::size_t at = block.rfind('\n');
    if (at != std::string::npos) return begin + at + 1;
    end = begin;
  }
  return 0;
}

/// Cuts off what has been written of a piece, unless others have added to the file.
void take_back(File& file, std::uint64_t bytes, std::string_view piece) {
  const std::uint64_t size = file.size();
  if (size <= bytes || size - bytes >= piece.size()) return;
  std::string torn(size - bytes, '\0');
  File::open(file.path()).read_at(torn.data(), torn.size(), bytes);
  if (piece.starts_with(torn)) file.resize(bytes);
}

}  // namespace

void GrowingFile::append(std::string_view piece) {
  const std::uint64_t before = file_.size();
  try {
    file_.append(piece);
  } catch (const Error&) {
    take_back(file_, before, piece);
    throw;
  }
  bytes_ = file_.size();
}

File open_at(const std::string& path, std::uint64_t bytes) {
  File file = File::open_to_append(path);
  if (file.size() > bytes) file.resize(bytes);
  return file;
}

File open_lines_at(const std::string& path, std::uint64_t bytes) {
  File file = open_at(path, bytes);
  const std::uint64_t left = file.size();
  if (left == 0 || left == bytes) return file;
  const std::uint64_t end = end_of_last_line(path);
  if (end < left) file.resize(end);
  return file;
}

}  // namespace meshwork
