#pragma once

#include <optional>
#include <string>

namespace meshwork::cuda {

/// What was compiled for GPUs, kept in a folder of files: MESHWORK_CUDA_CACHE, else meshwork/cuda
/// in XDG_CACHE_HOME or ~/.cache; where it cannot be written, every process compiles anew. `key`
/// says all that it is made of, `ending` what it is: ".cubin".
std::optional<std::string> read_cached(const std::string& key, const std::string& ending);
void keep_cached(const std::string& key, const std::string& ending, const std::string& content);

}  // namespace meshwork::cuda
