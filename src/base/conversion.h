#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/dtype.h"

namespace meshwork {

/// How stored numbers become those of training: value = raw * scale + offset, computed in double
/// and rounded once. So scale 1/255 gives the very bits of numpy's x.astype("float32") / 255.
struct Conversion {
  DType dtype = DType::kFloat32;  ///< kFloat32 or kInt32
  double scale = 1.0;
  double offset = 0.0;

  bool scales() const { return scale != 1.0 || offset != 0.0; }
};

/// Converts `count` neighbouring elements from `raw` (any alignment) to `out`. Returns how many
/// went well: less than `count` where element number [result] is no whole number (to 1e-6 of it)
/// that int32 can hold.
std::int64_t convert_elements(const std::byte* raw, DType from, std::int64_t count,
                              const Conversion& conversion, void* out);

/// One element, before scale and offset.
double value_at(const std::byte* raw, DType dtype);

/// Numbers of float32 as the nearest ones of bfloat16 or float16.
void round_elements(const float* numbers, std::int64_t count, DType to, void* out);
float rounded_to(DType dtype, float number);

/// (value - mean) / std in float32, channel by channel; a channel is a place in the last dimension.
/// Both are empty for no normalization, or have one number for all channels, or one for each.
struct Normalization {
  std::vector<float> mean;
  std::vector<float> std;

  bool empty() const { return mean.empty(); }
};

/// Normalizes neighbouring elements of a sample of which the first has the row-major index `start`.
void normalize(const Normalization& normalization, std::int64_t start, std::span<float> values);

}  // namespace meshwork
