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
  std::vector<double> mean;
  std::vector<double> std;

  bool empty() const { return mean.empty(); }
};

/// Whether stored numbers may have digits that float32 has not. Of such the mean is taken off in
/// double, before they are rounded: what is left of a large number may be small.
bool has_more_digits_than_float32(DType stored);

/// Converts `out.size()` elements to float32 and normalizes them; the first has the row-major index
/// `start` in its sample.
void convert_and_normalize(const std::byte* raw, DType from, const Conversion& conversion,
                           const Normalization& normalization, std::int64_t start,
                           std::span<float> out);

}  // namespace meshwork
