#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace meshwork::data {

/// From now on, whoever reads of this mapping what its file no longer has, because it was cut, ends
/// the process with ExitCode::kFile and a line that names the file, instead of by SIGBUS. The path
/// must live as long as the mapping.
void guard_mapping(std::span<const std::byte> mapping, const std::string& path);

/// To be called before the mapping goes.
void unguard_mapping(std::span<const std::byte> mapping);

}  // namespace meshwork::data
