#pragma once

#include <optional>
#include <string>

namespace meshwork::cuda {

/// Where programs keep what they have found out about GPUs: MESHWORK_CUDA_CACHE, else meshwork/cuda
/// in XDG_CACHE_HOME or ~/.cache; "" where there is none of these.
std::string cache_folder();

/// What was compiled for GPUs, kept as a file there with its digest: one that is damaged is as
/// none. Where it cannot be written, every process compiles anew. `key` says all that it is made
/// of, `ending` what it is: ".cubin".
std::optional<std::string> read_cached(const std::string& key, const std::string& ending);
void keep_cached(const std::string& key, const std::string& ending, const std::string& content);

}  // namespace meshwork::cuda
