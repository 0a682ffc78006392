#include "backend/cpu/fusion_steps.h"

#include <algorithm>
#include <array>

#include "backend/cpu/elementwise_loop.h"
#include "backend/cpu/lanes.h"
#include "backend/types.h"
#include "elementwise/all.h"

namespace meshwork::cpu {
namespace {

// Ops of an elementwise formula that are no entries of the list: their shapes are their own.

struct BroadcastTo {
  [[gnu::always_inline]] static float apply(float x) { return x; }
};
using Cast = BroadcastTo;

struct ScaleOffset {
  [[gnu::always_inline]] static float apply(float x, float scale, float offset) {
    return x * scale + offset;
  }
};

struct Named {
  std::string_view op;
  FusionStep step;
};

template <class Entry>
Named named(std::string_view op) {
  return {op, elementwise_step<Entry, float>()};
}

template <class... Entries>
FusionStep find_step(std::string_view op, elementwise::List<Entries...>) {
  static const std::array steps{named<BroadcastTo>("broadcast_to"),
                                named<ScaleOffset>("scale_offset"),
                                named<Entries>(Entries::kTraits.name)...};
  const auto* const found =
      std::find_if(steps.begin(), steps.end(), [&](const Named& step) { return step.op == op; });
  return found == steps.end() ? nullptr : found->step;
}

struct RowSumsLoop {
  [[gnu::always_inline]] static void run(const float* x, std::int64_t columns, std::int64_t rows,
                                         float* y) {
    for (std::int64_t row = 0; row < rows; ++row) {
      y[row] = fold_lanes<elementwise::Add>(x + row * columns, columns);
    }
  }
};

}  // namespace

RowSums find_row_sums() { return vectorized<RowSumsLoop>(); }

FusionStep find_fusion_step(std::string_view op, DType from, DType to) {
  if (from == to && from == DType::kFloat32) return find_step(op, elementwise::All{});
  if (op != "cast") return nullptr;
  if ((from == DType::kInt32 || from == DType::kInt64) && to == DType::kFloat32) {
    return with_number(
        from, [](auto x) { return vectorized<StepLoop<Cast, float, float, decltype(x)>>(); });
  }
  if (is_narrow_float(from) && to == DType::kFloat32) {
    return with_narrow(
        from, [](auto x) { return vectorized<StepLoop<Cast, float, float, decltype(x)>>(); });
  }
  if (is_narrow_float(to) && from == DType::kFloat32) {
    return with_narrow(
        to, [](auto y) { return vectorized<StepLoop<Cast, float, decltype(y), float>>(); });
  }
  return nullptr;
}

}  // namespace meshwork::cpu
