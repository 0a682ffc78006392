// Ops that only move elements: those of movement.h, and reshape
#include "backend/cuda/kernel.h"
#include "backend/cuda/kernels.h"
#include "backend/cuda/movement/kernels.h"
#include "backend/cuda/movement/strided_copy.h"

namespace meshwork::cuda {
namespace {

Launch run_all(const KernelArgs& args, const std::vector<movement::Copy>& copies) {
  return copy_all(stream_of(args), copies,
                  static_cast<std::int64_t>(size_of(args.output.type.dtype)));
}

}  // namespace

std::span<const KernelDef> copy_kernels() { return movement::kernels<run_all>(); }

Launch reshape(const KernelArgs& args) {
  return [&stream = stream_of(args), x = args.inputs[0].data, y = args.output.data,
          bytes = num_bytes(args.output.type)] { stream.copy(y, x, bytes); };
}

}  // namespace meshwork::cuda
