// convert:   y = the stored numbers x as those of training (ops/conversion.h)
// take_rows: the same of rows of samples; 0 for a row that is not there
#include <cmath>
#include <limits>

#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"
#include "base/check.h"
#include "base/conversion.h"

namespace meshwork::reference {
namespace {

/// A number of place `channel` in the last dimension, stored as `stored`, as float32.
float normalized(const Attrs& attrs, double value, DType stored, std::int64_t channel) {
  if (attrs.find("mean") == nullptr) return static_cast<float>(value);
  const std::size_t i = attrs.reals("mean").size() == 1 ? 0 : static_cast<std::size_t>(channel);
  const double mean = attrs.reals("mean")[i];
  const float centred = has_more_digits_than_float32(stored)
                            ? static_cast<float>(value - mean)
                            : static_cast<float>(value) - static_cast<float>(mean);
  return centred / static_cast<float>(attrs.reals("std")[i]);
}

std::int32_t whole(double value) {
  using Limits = std::numeric_limits<std::int32_t>;
  const double nearest = std::nearbyint(value);
  if (!(std::abs(value - nearest) <= 1e-6 * std::max(1.0, std::abs(value)))) return 0;
  return nearest < Limits::min() || nearest > Limits::max() ? 0
                                                            : static_cast<std::int32_t>(nearest);
}

/// Writes element i of y, which stands at `index` in y and is stored at `raw`; nullptr: nowhere.
void write(const KernelArgs& args, std::int64_t i, const Shape& index, const std::byte* raw) {
  const TensorView& y = args.output;
  double value = 0;
  if (raw != nullptr) {
    value = value_at(raw, args.inputs[0].type.dtype) * args.attrs.real("scale") +
            args.attrs.real("offset");
  }
  if (y.type.dtype == DType::kInt32) {
    y.as<std::int32_t>()[i] = whole(value);
  } else if (raw == nullptr) {
    y.as<float>()[i] = 0;
  } else {
    const std::int64_t channel = index.empty() ? 0 : index.back() + y.region.offset.back();
    y.as<float>()[i] = normalized(args.attrs, value, args.inputs[0].type.dtype, channel);
  }
}

}  // namespace

Launch convert_stored(const KernelArgs& args) {
  return [args] {
    const TensorView& x = args.inputs[0];
    const auto size = static_cast<std::int64_t>(size_of(x.type.dtype));
    std::int64_t i = 0;
    for_each_index(args.output.type.shape, [&](const Shape& index) {
      write(args, i, index, x.data + i * size);
      ++i;
    });
  };
}

Launch take_rows(const KernelArgs& args) {
  MW_CHECK(args.inputs[1].type.dtype == DType::kInt32);
  return [args] {
    const TensorView& samples = args.inputs[0];
    const auto size = static_cast<std::int64_t>(size_of(samples.type.dtype));
    const Shape strides = row_major_strides(samples.type.shape);
    std::int64_t i = 0;
    for_each_index(args.output.type.shape, [&](const Shape& index) {
      const std::int64_t row = args.inputs[1].as<std::int32_t>()[index[0]];
      const bool is_there = row >= 0 && row < samples.type.shape[0];
      std::int64_t place = row * strides[0];
      for (std::size_t d = 1; d < index.size(); ++d) {
        place += (index[d] + args.output.region.offset[d]) * strides[d];
      }
      write(args, i++, index, is_there ? samples.data + place * size : nullptr);
    });
  };
}

}  // namespace meshwork::reference
