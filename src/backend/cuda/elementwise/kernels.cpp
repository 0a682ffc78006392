#include "backend/cuda/kernels.h"

#include <numeric>

#include "elementwise/all.h"
#include "elementwise/each.h"

namespace meshwork::cuda {
namespace {

/// A group of one.
template <class Entry>
Launch bind(const KernelArgs& args) {
  FusionGroup group{.inputs = args.inputs, .members = {}};
  std::vector<std::size_t> operands(args.inputs.size());
  std::iota(operands.begin(), operands.end(), std::size_t{0});
  group.members.push_back({Entry::kTraits.name, args.attrs, operands, args.output, true});
  return bind_fusions({&group, 1}, stream_of(args));
}

}  // namespace

std::span<const KernelDef> elementwise_kernels() {
  static const auto list = elementwise::each([]<class Entry>() {
    return KernelDef{Entry::kTraits.name, bind<Entry>};
  });
  return list;
}

}  // namespace meshwork::cuda
