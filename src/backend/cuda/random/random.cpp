// random_uniform:   y = low + (high - low) u, u uniform in [0, 1)
// random_normal:    y = mean + stddev z, z standard normal
// truncated_normal: as random_normal, |z| < 2
// A device draws its part of the whole tensor; each thread all numbers of one counter.
#include "backend/cuda/random/generator.h"
#include "backend/cuda/random/kernels.h"
#include "backend/cuda/random/part.h"
#include "base/check.h"

namespace meshwork::cuda {
namespace {

constexpr std::string_view kUniform = R"cuda(
#define DRAWN 4  // numbers of a counter

DEVICE void draw(uint64 key, uint64 step, uint64 counter, float (&z)[DRAWN]) {
  const Bits bits = philox(key, step, counter);
  for (int32 i = 0; i < DRAWN; ++i) z[i] = uniform_of(bits.at[i]);
}
)cuda";

constexpr std::string_view kNormal = R"cuda(
#define DRAWN 2

DEVICE void draw(uint64 key, uint64 step, uint64 counter, float (&z)[DRAWN]) {
  const Bits bits = philox(key, step, counter);
  z[0] = (float)normal_of(bits.at[0], bits.at[1]);
  z[1] = (float)normal_of(bits.at[2], bits.at[3]);
}
)cuda";

constexpr std::string_view kTruncated = R"cuda(
#define DRAWN 2

DEVICE void draw(uint64 key, uint64 step, uint64 counter, float (&z)[DRAWN]) {
  const Bits bits = philox(key, step, counter);
  for (int32 i = 0; i < DRAWN; ++i) {
    float64 x = normal_of(bits.at[2 * i], bits.at[2 * i + 1]);
    for (uint64 attempt = 1; !(fabs(x) < 2.0); ++attempt) {
      x = normal_at(key, step, DRAWN * counter + i, attempt);
    }
    z[i] = (float)x;
  }
}
)cuda";

constexpr std::string_view kText = R"cuda(
// `counters`: of a run, wherever in a counter it begins.
KERNEL(draw_part, float* y, const int64* step, uint64 key, float shift, float scale, int64 counters,
       Part part) {
  const uint64 at_step = step == nullptr ? 0 : (uint64)*step;
  FOR_EACH(i, part.runs * counters) {
    const int64 run = part.runs == 1 ? 0 : i / counters;
    const int64 begin = begin_of(part, run);
    const int64 counter = begin / DRAWN + (i - run * counters);
    const int64 within = counter * DRAWN - begin;  // of the first number; others may stand before y
    if (within >= part.length) continue;
    float z[DRAWN];
    draw(key, at_step, (uint64)counter, z);
    Pack<float, DRAWN> numbers;
    for (int32 k = 0; k < DRAWN; ++k) numbers.at[k] = shift + scale * z[k];
    float* const to = y + run * part.length + within;
    if (within >= 0 && within + DRAWN <= part.length && (uint64)to % sizeof numbers == 0) {
      store(to, numbers);
      continue;
    }
    for (int32 k = 0; k < DRAWN; ++k) {
      if (within + k >= 0 && within + k < part.length) to[k] = numbers.at[k];
    }
  }
}
)cuda";

struct Draw {
  const char* name;
  std::string_view text;
  std::int64_t numbers;  ///< of a counter
};

Launch random(const KernelArgs& args, const Draw& draw, double shift, double scale) {
  const TensorView& y = args.output;
  MW_CHECK(y.type.dtype == DType::kFloat32, "{} of {}", draw.name, to_string(y.type));
  if (num_elements(y.type.shape) == 0) return [] {};
  const PartRuns part = part_runs(y.type.shape, y.region);
  const std::int64_t counters = (part.length + 2 * (draw.numbers - 1)) / draw.numbers;
  std::string text(kGeneratorText);
  text.append(kPartText).append(draw.text).append(kText);
  const std::byte* const step = args.inputs.empty() ? nullptr : args.inputs[0].data;
  return kernel_launch(stream_of(args), {draw.name, text, ""}, "draw_part",
                       grid_of(part.runs * counters), y.data, step,
                       static_cast<std::uint64_t>(args.attrs.integer("key")),
                       static_cast<float>(shift), static_cast<float>(scale), counters, part);
}

}  // namespace

Launch random_uniform(const KernelArgs& args) {
  const double low = args.attrs.real("low");
  return random(args, {"random_uniform", kUniform, 4}, low, args.attrs.real("high") - low);
}

Launch random_normal(const KernelArgs& args) {
  return random(args, {"random_normal", kNormal, 2}, args.attrs.real("mean"),
                args.attrs.real("stddev"));
}

Launch truncated_normal(const KernelArgs& args) {
  return random(args, {"truncated_normal", kTruncated, 2}, args.attrs.real("mean"),
                args.attrs.real("stddev"));
}

}  // namespace meshwork::cuda
