#pragma once

#include <vector>

#include "backend/backend.h"
#include "backend/copy_dim.h"

/// Ops that only move elements, as copies between strided tensors.
namespace meshwork::movement {

/// A copy with its pointers. What is read and what is written do not overlap.
struct Copy {
  std::vector<CopyDim> dims;  ///< strides in elements
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
};

std::vector<Copy> broadcast_to(const KernelArgs& args);
std::vector<Copy> concatenate(const KernelArgs& args);
std::vector<Copy> halo_pack(const KernelArgs& args);
std::vector<Copy> halo_unpack(const KernelArgs& args);
std::vector<Copy> pack(const KernelArgs& args);
std::vector<Copy> slice(const KernelArgs& args);
std::vector<Copy> transpose(const KernelArgs& args);
std::vector<Copy> unpack(const KernelArgs& args);

}  // namespace meshwork::movement
