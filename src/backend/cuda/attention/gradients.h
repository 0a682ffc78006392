#pragma once

#include <string_view>

namespace meshwork::cuda::attention {

/// What gradients make of scores.
inline constexpr std::string_view kGradientText = R"cuda(
// p of q k and a log_sum in powers of 2.
DEVICE float weight(float product, float scale, float log_sum) {
  return exp2f(scale * LOG2_E * product - log_sum);
}
)cuda";

}  // namespace meshwork::cuda::attention
