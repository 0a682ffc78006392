#pragma once

#include <doctest/doctest.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

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

/// The floats behind the header of an array.
inline std::vector<float> floats(const std::string& npy) {
  const std::size_t begin = npy.find('\n') + 1;
  REQUIRE(begin <= npy.size());
  std::vector<float> values((npy.size() - begin) / sizeof(float));
  std::memcpy(values.data(), npy.data() + begin, values.size() * sizeof(float));
  return values;
}

inline void check_near(const std::vector<float>& values, const std::vector<float>& expected,
                       float far = 1e-5F) {
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(std::abs(values[i] - expected[i]) <= far * (1 + std::abs(expected[i])));
  }
}

}  // namespace meshwork::cli
