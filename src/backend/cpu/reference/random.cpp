// random_uniform:   y = low + (high - low) u, u uniform in [0, 1)
// random_normal:    y = mean + stddev z, z standard normal
// truncated_normal: as random_normal, |z| < 2
// Each element depends on the key, the step and its place in the whole tensor only.
#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/views.h"
#include "base/check.h"
#include "base/rng.h"

namespace meshwork::reference {
namespace {

/// y = shift + scale * draw(key, step, global index).
template <float (*Draw)(std::uint64_t, std::uint64_t, std::uint64_t)>
Launch random(const KernelArgs& args, double shift, double scale) {
  MW_CHECK(args.output.type.dtype == DType::kFloat32);
  return [args, shift = static_cast<float>(shift), scale = static_cast<float>(scale)] {
    const auto key = static_cast<std::uint64_t>(args.attrs.integer("key"));
    const Region& region = args.output.region;
    const Shape strides = row_major_strides(region.global);
    const std::int64_t begin = offset_of(region.offset, strides);
    std::int64_t i = 0;
    for_each_index(args.output.type.shape, [&](const Shape& index) {
      const auto place = static_cast<std::uint64_t>(begin + offset_of(index, strides));
      args.output.as<float>()[i++] = shift + scale * Draw(key, step_of(args), place);
    });
  };
}

}  // namespace

Launch random_uniform(const KernelArgs& args) {
  const double low = args.attrs.real("low");
  return random<uniform_at>(args, low, args.attrs.real("high") - low);
}

Launch random_normal(const KernelArgs& args) {
  return random<normal_at>(args, args.attrs.real("mean"), args.attrs.real("stddev"));
}

Launch truncated_normal(const KernelArgs& args) {
  return random<truncated_normal_at>(args, args.attrs.real("mean"), args.attrs.real("stddev"));
}

}  // namespace meshwork::reference
