// Ops that only move elements: broadcast_to, concatenate, halo_pack, halo_unpack, pack, reshape,
// slice, transpose, unpack
#include "backend/cuda/kernel.h"
#include "backend/cuda/movement/kernels.h"
#include "backend/cuda/movement/strided_copy.h"

namespace meshwork::cuda {
namespace {

Launch run_all(const KernelArgs& args, const std::vector<movement::Copy>& copies) {
  return copy_all(stream_of(args), copies,
                  static_cast<std::int64_t>(size_of(args.output.type.dtype)));
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

Launch reshape(const KernelArgs& args) {
  return [&stream = stream_of(args), x = args.inputs[0].data, y = args.output.data,
          bytes = num_bytes(args.output.type)] { stream.copy(y, x, bytes); };
}

}  // namespace meshwork::cuda
