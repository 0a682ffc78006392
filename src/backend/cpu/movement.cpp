// Ops that only move elements: broadcast_to, concatenate, halo_pack, halo_unpack, pack, slice,
// transpose, unpack
#include "backend/movement.h"

#include "backend/cpu/kernels.h"
#include "backend/cpu/strided_copy.h"

namespace meshwork::cpu {
namespace {

Launch run_all(const KernelArgs& args, const std::vector<movement::Copy>& copies) {
  struct BoundCopy {
    StridedCopy copy;
    const std::byte* from;
    std::byte* to;
  };
  std::vector<BoundCopy> bound;
  for (const movement::Copy& copy : copies) {
    bound.push_back({StridedCopy(copy.dims, args.output.type.dtype), copy.from, copy.to});
  }
  return [bound = std::move(bound)] {
    for (const BoundCopy& copy : bound) copy.copy.run(copy.from, copy.to);
  };
}

}  // namespace

Launch broadcast_to(const KernelArgs& args) { return run_all(args, movement::broadcast_to(args)); }
Launch concatenate(const KernelArgs& args) { return run_all(args, movement::concatenate(args)); }
Launch halo_pack(const KernelArgs& args) { return run_all(args, movement::halo_pack(args)); }
Launch halo_unpack(const KernelArgs& args) { return run_all(args, movement::halo_unpack(args)); }
Launch pack(const KernelArgs& args) { return run_all(args, movement::pack(args)); }
Launch slice(const KernelArgs& args) { return run_all(args, movement::slice(args)); }
Launch transpose(const KernelArgs& args) { return run_all(args, movement::transpose(args)); }
Launch unpack(const KernelArgs& args) { return run_all(args, movement::unpack(args)); }

}  // namespace meshwork::cpu
