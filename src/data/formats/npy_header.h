#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "data/formats/array_source.h"

namespace meshwork::data {

/// Bytes that hold any header worth reading; numpy's own limit is 10000.
constexpr std::size_t kNpyHeaderLimit = std::size_t{1} << 16U;

/// Whether the bytes begin as a .npy file does.
bool is_npy(std::span<const std::byte> head);

/// Reads the header of a .npy file (versions 1 to 3) from its first bytes. Throws Error with
/// ExitCode::kFile that begins with `name`: wrong magic, damaged header, a dtype that holds no real
/// numbers, Fortran order.
ArrayHeader parse_npy_header(const std::string& name, std::span<const std::byte> head);

/// The header of a version 1 file of little-endian elements in C order, padded to 64 bytes.
std::string npy_header(DType type, const Shape& shape);

}  // namespace meshwork::data
