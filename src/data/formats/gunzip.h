#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace meshwork::data {

/// Whether the bytes begin as a gzip file does.
bool is_gzip(std::span<const std::byte> file);

/// Decompresses one or several gzip members into `out`, checking their checksums; stops early
/// when `out` is full. Returns how many bytes it wrote. Throws Error with ExitCode::kFile that
/// begins with `name` for damaged or cut off data.
std::size_t gunzip(const std::string& name, std::span<const std::byte> file,
                   std::span<std::byte> out);

/// The size of what the whole file holds, found by decompressing it.
std::size_t gunzip_size(const std::string& name, std::span<const std::byte> file);

}  // namespace meshwork::data
