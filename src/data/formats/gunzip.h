#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "data/formats/mapped_file.h"

namespace meshwork::data {

/// Whether the bytes begin as a gzip file does.
bool is_gzip(std::span<const std::byte> file);

/// An Error of ExitCode::kFile where the name of a file ends with .gz, of a format that is packed
/// itself and read where it lies.
void refuse_gzip(const std::string& path);

/// Bytes of a gzip file that are resident at a time while it is decompressed.
constexpr std::size_t kGzipChunk = std::size_t{1} << 20U;

/// Decompresses one or several gzip members into `out`, checking their checksums; stops early
/// when `out` is full. Returns how many bytes it wrote. Throws Error with ExitCode::kFile that
/// begins with the path for damaged or cut off data. What has been decompressed is taken out of
/// resident memory, chunk by chunk.
std::size_t gunzip(const MappedFile& file, std::span<std::byte> out,
                   std::size_t chunk = kGzipChunk);

/// The size of what the whole file holds, found by decompressing it.
std::size_t gunzip_size(const MappedFile& file);

}  // namespace meshwork::data
