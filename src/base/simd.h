#pragma once

namespace meshwork {

/// Instruction sets that loops are compiled for, beside what the whole program may use.
enum class Isa { kBaseline, kAvx2, kAvx512 };

/// The best one that this machine has.
Isa machine_isa();

namespace detail {

template <class Loop, class... Args>
void run_baseline(Args... args) {
  Loop::run(args...);
}

#if defined(__x86_64__)
template <class Loop, class... Args>
[[gnu::target("avx2")]] void run_avx2(Args... args) {
  Loop::run(args...);
}

template <class Loop, class... Args>
[[gnu::target("avx2,avx512f,avx512bw,avx512dq,avx512vl")]] void run_avx512(Args... args) {
  Loop::run(args...);
}
#endif

template <class Loop, class... Args>
auto build_for(Isa isa, void (*)(Args...)) -> void (*)(Args...) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return run_avx512<Loop, Args...>;
  if (isa == Isa::kAvx2) return run_avx2<Loop, Args...>;
#endif
  (void)isa;
  return run_baseline<Loop, Args...>;
}

}  // namespace detail

/// Loop::run, compiled for the instruction set: all of them give the same bits, since nothing is
/// contracted and sums are kept in a fixed number of lanes. `run` and all that it calls in its
/// loops are [[gnu::always_inline]]. Function pointers are chosen when a kernel is bound; unlike
/// ifuncs, they do not run before sanitizers are ready.
template <class Loop>
auto build_for(Isa isa) {
  return detail::build_for<Loop>(isa, static_cast<decltype(&Loop::run)>(nullptr));
}

/// Loop::run for this machine.
template <class Loop>
auto vectorized() {
  return build_for<Loop>(machine_isa());
}

}  // namespace meshwork
