#include "backend/cuda/kernels.h"

#include <array>
#include <numeric>

#include "elementwise/all.h"

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

template <class... Entries>
std::span<const KernelDef> bind_all(elementwise::List<Entries...>) {
  static const auto list = std::to_array<KernelDef>({{Entries::kTraits.name, bind<Entries>}...});
  return list;
}

}  // namespace

std::span<const KernelDef> elementwise_kernels() { return bind_all(elementwise::All{}); }

}  // namespace meshwork::cuda
