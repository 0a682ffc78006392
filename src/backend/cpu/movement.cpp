// Ops that only move elements.
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

std::span<const KernelDef> movement_kernels() { return movement::kernels<run_all>(); }

}  // namespace meshwork::cpu
