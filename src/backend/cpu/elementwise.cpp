// Elementwise ops, with numpy broadcasting.
#include "elementwise/all.h"

#include <array>
#include <type_traits>

#include "backend/cpu/elementwise_loop.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/nest.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/types.h"
#include "base/parallel.h"

namespace meshwork::cpu {
namespace {

using elementwise::Types;

/// One block of the nest; y may be an operand that is not broadcast.
template <class Entry, class Y, class... X>
struct BlockLoop {
  [[gnu::always_inline]] static void run(const X*... x, Y* y, const Nest::Block& block) {
    rows(std::index_sequence_for<X...>(), x..., y, block);
  }

 private:
  template <std::size_t... I>
  [[gnu::always_inline]] static void rows(std::index_sequence<I...>, const X*... x, Y* y,
                                          const Nest::Block& block) {
    const unsigned repeats = ((block.repeats[I] ? 1U << I : 0U) | ...);
    for (std::int64_t row = 0; row < block.rows; ++row) {
      ElementwiseLoop<Entry, Y, X...>::run(
          (x + block.offset[I] + row * block.stride[I])..., repeats,
          y + block.result_offset + row * block.result_stride, block.columns);
    }
  }
};

template <class Entry, class Y, class... X, std::size_t... I>
Launch launch(const KernelArgs& args, std::index_sequence<I...>) {
  const Nest nest(args.output.type.shape, {args.inputs[I].type.shape...});
  return [nest, ... x = args.inputs[I].as<X>(), y = args.output.as<Y>(),
          run = vectorized<BlockLoop<Entry, Y, X...>>()] {
    for_each_task(nest.tasks(), nest.elements(),
                  [&](std::int64_t task) { run(x..., y, nest.block(task)); });
  };
}

/// X: of all operands that T is not.
template <class Entry, class T, class... X>
Launch bind_as(const KernelArgs& args) {
  using Wide = decltype(Entry::apply(Computed<X>{}...));
  using Y = std::conditional_t<std::is_same_v<T, BFloat16>, BFloat16, Wide>;
  return launch<Entry, Y, X...>(args, std::index_sequence_for<X...>());
}

/// Of operands of type X.
template <class Entry, class X>
Launch bind_of(const KernelArgs& args) {
  constexpr std::size_t kOperands = elementwise::operand_count<Entry>();
  if constexpr (Entry::kTraits.types == Types::kChoice) {
    // The choices are only moved: as bits.
    using T = std::conditional_t<std::is_same_v<X, BFloat16>, std::uint16_t, float>;
    return bind_as<Entry, T, X, T, T>(args);
  } else if constexpr (kOperands == 1) {
    return bind_as<Entry, X, X>(args);
  } else {
    return bind_as<Entry, X, X, X>(args);
  }
}

/// Numbers of other and of several types, of which a step has few, are left to the naive kernel.
template <class Entry>
Launch bind(const KernelArgs& args) {
  const auto are = [&](DType dtype) {
    const bool is_given = Entry::kTraits.types == Types::kChoice;
    return args.inputs[0].type.dtype == dtype && (!is_given || args.output.type.dtype == dtype);
  };
  if (are(DType::kFloat32)) return bind_of<Entry, float>(args);
  if (are(DType::kBFloat16)) return bind_of<Entry, BFloat16>(args);
  constexpr std::size_t kNumber = elementwise::index_in<Entry>(elementwise::All{});
  return reference::elementwise_kernels()[kNumber].bind(args);
}

template <class... Entries>
std::span<const KernelDef> bind_all(elementwise::List<Entries...>) {
  static const auto list = std::to_array<KernelDef>({{Entries::kTraits.name, bind<Entries>}...});
  return list;
}

}  // namespace

std::span<const KernelDef> elementwise_kernels() { return bind_all(elementwise::All{}); }

}  // namespace meshwork::cpu
