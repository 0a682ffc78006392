#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace meshwork::data {

/// A mapping of a file from now on: whoever reads of it what the file has no longer, because it was
/// cut, ends the process with ExitCode::kFile and a line that names the file. (Without this it is a
/// SIGBUS.) The path must live as long.
void guard_mapping(std::span<const std::byte> mapping, const std::string& path);

/// To be called before the mapping goes.
void unguard_mapping(std::span<const std::byte> mapping);

}  // namespace meshwork::data
