#pragma once

#include <array>
#include <span>
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
std::vector<Copy> transpose_blocks(const KernelArgs& args);
std::vector<Copy> unpack(const KernelArgs& args);

/// A kernel by what its device does with the copies.
template <Launch (*run)(const KernelArgs&, const std::vector<Copy>&),
          std::vector<Copy> (*copies)(const KernelArgs&)>
Launch bind(const KernelArgs& args) {
  return run(args, copies(args));
}

/// The kernels of all of these ops.
template <Launch (*run)(const KernelArgs&, const std::vector<Copy>&)>
std::span<const KernelDef> kernels() {
  static const auto list = std::to_array<KernelDef>({
      {"broadcast_to", bind<run, broadcast_to>},
      {"concatenate", bind<run, concatenate>},
      {"halo_pack", bind<run, halo_pack>},
      {"halo_unpack", bind<run, halo_unpack>},
      {"pack", bind<run, pack>},
      {"slice", bind<run, slice>},
      {"transpose", bind<run, transpose>},
      {"transpose_blocks", bind<run, transpose_blocks>},
      {"unpack", bind<run, unpack>},
  });
  return list;
}

}  // namespace meshwork::movement
