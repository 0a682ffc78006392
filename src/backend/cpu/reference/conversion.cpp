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

/// A float32 number of place `channel` in the last dimension.
float normalized(const Attrs& attrs, float value, std::int64_t channel) {
  if (attrs.find("mean") == nullptr) return value;
  const std::vector<double>& mean = attrs.reals("mean");
  const std::size_t i = mean.size() == 1 ? 0 : static_cast<std::size_t>(channel);
  return (value - static_cast<float>(mean[i])) / static_cast<float>(attrs.reals("std")[i]);
}

std::int32_t whole(double value) {
  using Limits = std::numeric_limits<std::int32_t>;
  const double nearest = std::nearbyint(value);
  if (!(std::abs(value - nearest) <= 1e-6 * std::max(1.0, std::abs(value)))) return 0;
  return nearest < Limits::min() || nearest > Limits::max() ? 0
                                                            : static_cast<std::int32_t>(nearest);
}

/// Writes element i of y, which stands at `index` in the whole tensor and is stored at `raw`;
/// nullptr: nowhere.
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
    y.as<float>()[i] =
        normalized(args.attrs, static_cast<float>(value), index.empty() ? 0 : index.back());
  }
}

Shape global_index(const TensorView& y, Shape index) {
  for (std::size_t d = 0; d < index.size(); ++d) index[d] += y.region.offset[d];
  return index;
}

}  // namespace

Launch convert_stored(const KernelArgs& args) {
  return [args] {
    const TensorView& x = args.inputs[0];
    const auto size = static_cast<std::int64_t>(size_of(x.type.dtype));
    std::int64_t i = 0;
    for_each_index(args.output.type.shape, [&](const Shape& index) {
      write(args, i, global_index(args.output, index), x.data + i * size);
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
      Shape place = global_index(args.output, index);
      place[0] = args.inputs[1].as<std::int32_t>()[index[0]];
      const bool is_there = place[0] >= 0 && place[0] < samples.type.shape[0];
      write(args, i++, place, is_there ? samples.data + offset_of(place, strides) * size : nullptr);
    });
  };
}

}  // namespace meshwork::reference
