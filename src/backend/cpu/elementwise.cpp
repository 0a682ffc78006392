// Elementwise ops, with numpy broadcasting.
#include "elementwise/all.h"

#include <algorithm>
#include <array>
#include <vector>

#include "backend/cpu/elementwise_loop.h"
#include "backend/cpu/fusion_steps.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/nest.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/types.h"
#include "base/parallel.h"
#include "elementwise/each.h"

namespace meshwork::cpu {
namespace {

/// Of floats of 16 bits.
template <class Entry, class T>
ElementwiseStep<T> narrow_step() {
  if constexpr (Entry::kTraits.types == elementwise::Types::kChoice) {
    using Bits = std::uint16_t;  // the choices are only moved
    return vectorized<StepLoop<Entry, T, Bits, T, Bits, Bits>>();
  } else {
    return elementwise_step<Entry, T>();
  }
}

/// Broadcasts; y may be an operand that is not broadcast.
template <class T>
Launch bind_rows(const KernelArgs& args, ElementwiseStep<T> step) {
  std::vector<Shape> shapes;
  std::array<const T*, kMaxOperands> x{};
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    shapes.push_back(args.inputs[i].type.shape);
    x[i] = args.inputs[i].as<T>();
  }
  return [nest = Nest(args.output.type.shape, shapes), x, y = args.output.as<T>(), step] {
    for_each_task(nest.tasks(), nest.elements(), [&](std::int64_t task) {
      const Nest::Block block = nest.block(task);
      unsigned repeats = 0;
      for (std::size_t i = 0; i < x.size(); ++i) repeats |= block.repeats[i] ? 1U << i : 0U;
      std::array<const T*, kMaxOperands> at{};
      for (std::int64_t row = 0; row < block.rows; ++row) {
        for (std::size_t i = 0; i < x.size(); ++i) {
          at[i] = x[i] + block.offset[i] + row * block.stride[i];
        }
        step(at.data(), repeats, y + block.result_offset + row * block.result_stride,
             block.columns);
      }
    });
  };
}

/// Whole numbers and several types, of which a step has few, are left to the naive kernel.
template <class Entry>
Launch bind(const KernelArgs& args) {
  const auto all_are = [&](DType dtype) {
    const auto is = [&](const TensorView& view) { return view.type.dtype == dtype; };
    return is(args.output) && std::all_of(args.inputs.begin(), args.inputs.end(), is);
  };
  if (all_are(DType::kFloat32)) {
    return bind_rows<float>(args, find_fusion_step(Entry::kTraits.name));
  }
  const DType dtype = args.output.type.dtype;
  if (is_narrow_float(dtype) && all_are(dtype)) {
    return with_narrow(dtype, [&](auto number) {
      using T = decltype(number);
      return bind_rows<T>(args, narrow_step<Entry, T>());
    });
  }
  constexpr std::size_t kNumber = elementwise::index_in<Entry>(elementwise::All{});
  return reference::elementwise_kernels()[kNumber].bind(args);
}

}  // namespace

std::span<const KernelDef> elementwise_kernels() {
  static const auto list = elementwise::each([]<class Entry>() {
    return KernelDef{Entry::kTraits.name, bind<Entry>};
  });
  return list;
}

}  // namespace meshwork::cpu
