#pragma once

#include <doctest/doctest.h>
#include <zlib.h>

#include <filesystem>
#include <string>

namespace meshwork::cli {

/// What a file packed by gzip holds.
inline std::string unpacked(const std::filesystem::path& path) {
  std::string bytes, piece(std::size_t{1} << 16U, '\0');
  gzFile file = gzopen(path.c_str(), "rb");
  REQUIRE(file != nullptr);
  for (int got = 1; got > 0;) {
    got = gzread(file, piece.data(), static_cast<unsigned>(piece.size()));
    REQUIRE(got >= 0);
    bytes.append(piece, 0, static_cast<std::size_t>(got));
  }
  gzclose(file);
  return bytes;
}

}  // namespace meshwork::cli
