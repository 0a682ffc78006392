#pragma once

#include <map>
#include <string>

namespace meshwork {

/// Of Meshwork and of the libraries that its numbers depend on: {"meshwork": "0.1.0", "onednn":
/// "2.6.0", ...}.
std::map<std::string, std::string> versions();

/// What computes large convolutions and plain attention of 16 bits on GPUs, for people:
/// "cuDNN 9.19.0", or "of its own: " and why.
std::string gpu_convolutions();

/// What `collectives: nccl` finds, for people: "NCCL 2.28.9", or "not there: " and why.
std::string gpu_collectives();

}  // namespace meshwork
