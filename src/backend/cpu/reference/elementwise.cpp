// Elementwise ops: what entries call exact, in double precision, rounded once; all else as it is.
#include "elementwise/all.h"

#include <array>
#include <utility>

#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/cpu/widen.h"
#include "backend/types.h"
#include "backend/views.h"
#include "elementwise/each.h"

namespace meshwork::reference {
namespace {

using elementwise::Types;

template <class Entry>
struct InDouble {
  static float apply(float x) {
    if constexpr (requires { &Entry::template exact<double>; }) {
      return static_cast<float>(Entry::exact(static_cast<double>(x)));
    } else {
      return static_cast<float>(Entry::apply(static_cast<double>(x)));
    }
  }
};

/// y[index] = F(x[index], ..), X the types of the operands.
template <class F, class... X, std::size_t... I>
void compute(const KernelArgs& args, std::index_sequence<I...>) {
  using Y = decltype(F::apply(X{}...));
  const Shape& shape = args.output.type.shape;
  const std::array strides{broadcast_strides(args.inputs[I].type.shape, shape)...};
  std::int64_t i = 0;
  for_each_index(shape, [&](const Shape& index) {
    args.output.as<Y>()[i++] = F::apply(args.inputs[I].as<X>()[offset_of(index, strides[I])]...);
  });
}

template <class F, class... X>
void compute_of(const KernelArgs& args) {
  compute<F, X...>(args, std::index_sequence_for<X...>());
}

template <class Entry>
void compute_entry(const KernelArgs& args) {
  constexpr Types kTypes = Entry::kTraits.types;
  const DType dtype = args.inputs[0].type.dtype;
  if constexpr (kTypes == Types::kChoice) {
    with_type(dtype, [&](auto condition) {
      with_type(args.output.type.dtype, [&](auto value) {
        using T = decltype(value);
        compute_of<Entry, decltype(condition), T, T>(args);
      });
    });
  } else if constexpr (kTypes == Types::kReal) {
    MW_CHECK(dtype == DType::kFloat32);
    if constexpr (elementwise::operand_count<Entry>() == 1) {
      compute_of<InDouble<Entry>, float>(args);
    } else {
      compute_of<Entry, float, float>(args);
    }
  } else {
    with_number(dtype, [&](auto number) {
      using T = decltype(number);
      if constexpr (elementwise::operand_count<Entry>() == 1) {
        compute_of<Entry, T>(args);
      } else {
        compute_of<Entry, T, T>(args);
      }
    });
  }
}

template <class Entry>
Launch bind(const KernelArgs& args) {
  return [args] { compute_entry<Entry>(args); };
}

template <class Entry>
KernelDef define() {
  constexpr auto kTraits = Entry::kTraits;
  if constexpr (kTraits.types == Types::kChoice) return {kTraits.name, bind<Entry>};
  return cpu::widened<bind<Entry>>(kTraits.name);
}

}  // namespace

std::span<const KernelDef> elementwise_kernels() {
  static const auto list = elementwise::each([]<class Entry>() { return define<Entry>(); });
  return list;
}

}  // namespace meshwork::reference
