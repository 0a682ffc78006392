#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "backend/cpu/fusion_steps.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/store.h"
#include "elementwise/list.h"

namespace meshwork::cpu {

/// y[i] = Entry(x[i]..) for `count` >= 1 contiguous elements; an operand whose bit in `repeats` is
/// set is one element. y may be an operand of its type that does not repeat.
template <class Entry, class Y, class... X>
struct ElementwiseLoop {
  [[gnu::always_inline]] static void run(const X*... x, unsigned repeats, Y* y,
                                         std::int64_t count) {
    by_repeats(std::make_integer_sequence<unsigned, 1U << sizeof...(X)>(), x..., repeats, y, count);
  }

 private:
  template <unsigned... kRepeats>
  [[gnu::always_inline]] static void by_repeats(std::integer_sequence<unsigned, kRepeats...>,
                                                const X*... x, unsigned repeats, Y* y,
                                                std::int64_t count) {
    const std::index_sequence_for<X...> operands;
    ((repeats == kRepeats ? row<kRepeats>(operands, x..., computed(*x)..., y, count) : void()),
     ...);
  }

  /// `value`: of operands that repeat.
  template <unsigned kRepeats, std::size_t... I>
  [[gnu::always_inline]] static void row(std::index_sequence<I...>, const X*... x,
                                         Computed<X>... value, Y* y, std::int64_t count) {
    if constexpr (kRepeats + 1 == 1U << sizeof...(X)) {
      Y once;
      store(once, Entry::apply(value...));
      std::fill_n(y, count, once);
    } else {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) {
        store(y[i], Entry::apply((kRepeats >> I & 1U ? value : computed(x[i]))...));
      }
    }
  }
};

/// ElementwiseLoop as a step; Y and X are as what its result and operands are read.
template <class Entry, class T, class Y, class... X>
struct StepLoop {
  [[gnu::always_inline]] static void run(const T* const* operands, unsigned repeats, T* y,
                                         std::int64_t count) {
    spread(std::index_sequence_for<X...>(), operands, repeats, y, count);
  }

 private:
  template <std::size_t... I>
  [[gnu::always_inline]] static void spread(std::index_sequence<I...>, const T* const* operands,
                                            unsigned repeats, T* y, std::int64_t count) {
    ElementwiseLoop<Entry, Y, X...>::run(reinterpret_cast<const X*>(operands[I])..., repeats,
                                         reinterpret_cast<Y*>(y), count);
  }
};

/// The step of an entry for this machine.
template <class Entry, class T>
ElementwiseStep<T> elementwise_step() {
  constexpr std::size_t kOperands = elementwise::operand_count<Entry>();
  if constexpr (kOperands == 1) return vectorized<StepLoop<Entry, T, T, T>>();
  if constexpr (kOperands == 2) return vectorized<StepLoop<Entry, T, T, T, T>>();
  if constexpr (kOperands == 3) return vectorized<StepLoop<Entry, T, T, T, T, T>>();
}

}  // namespace meshwork::cpu
