// Random arrays: {normal: [128, 28, 28, 1]}, {uniform: [128, 10]} or
// {integers: [128], below: 10}, the number of samples first. Drawn by seed, split, field and
// element, so every device draws just its part. The dataset's key `seed` replaces the run's.
#include <array>
#include <atomic>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/fitting_product.h"
#include "base/rng.h"
#include "data/formats/array_source.h"

namespace meshwork::data {
namespace {

enum class Draw { kNormal, kUniform, kIntegers };

struct SyntheticSpec {
  Draw draw = Draw::kNormal;
  Shape shape;
  std::uint64_t below = 1;  ///< kIntegers: 0 <= value < below
  std::optional<std::uint64_t> seed;
  std::string path;  ///< "train/x"
};

/// By default an array up to this size is drawn once and kept; a larger one is drawn as it is read.
constexpr std::int64_t kKeptElements = std::int64_t{1} << 24;

class SyntheticSource : public Source {
 public:
  SyntheticSource(const SyntheticSpec& spec, const OpenContext& context)
      : Source({"synthetic " + spec.path, spec.shape,
                spec.draw == Draw::kIntegers ? DType::kInt32 : DType::kFloat32}),
        spec_(spec),
        key_(random_key(spec.seed.value_or(context.seed), spec.path)),
        keeps_(context.cache.value_or(num_elements(spec.shape) <= kKeptElements)) {}

  bool is_resident() const override { return keeps_; }

 private:
  void fetch(std::int64_t begin, std::int64_t count, std::byte* out) const override {
    auto* reals = reinterpret_cast<float*>(out);
    auto* integers = reinterpret_cast<std::int32_t*>(out);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto index = static_cast<std::uint64_t>(begin + i);
      switch (spec_.draw) {
        case Draw::kNormal:
          reals[i] = normal_at(key_, 0, index);
          break;
        case Draw::kUniform:
          reals[i] = uniform_at(key_, 0, index);
          break;
        case Draw::kIntegers:
          integers[i] = integer_at(index);
          break;
      }
    }
  }

  std::int32_t integer_at(std::uint64_t index) const {
    const std::uint64_t bits = philox(key_, 0, index)[0];
    return static_cast<std::int32_t>((bits * spec_.below) >> 32U);
  }

  SyntheticSpec spec_;
  std::uint64_t key_;
  bool keeps_;
};

Shape read_shape(const config::Value& value, std::string_view key) {
  Shape shape = value.as_shape(key);
  for (const std::int64_t extent : shape) {
    if (extent < 1) config::fail_at(value.at, "{}: extent {} is not positive", key, extent);
  }
  if (!fitting_product(shape, sizeof(float))) {
    config::fail_at(value.at, "{}: shape {} is too large", key, to_string(shape));
  }
  if (shape.empty())
    config::fail_at(value.at, "{} needs a shape, the number of samples first", key);
  return shape;
}

Opener parse(const FieldEntry& entry) {
  SyntheticSpec spec;
  spec.path = entry.split + "/" + entry.field;
  config::Reader keys(entry.value, name_of(entry));
  constexpr std::array<std::pair<const char*, Draw>, 3> kDraws{{
      {"normal", Draw::kNormal},
      {"uniform", Draw::kUniform},
      {"integers", Draw::kIntegers},
  }};
  for (const auto& [name, draw] : kDraws) {
    const config::Value* shape = keys.find(name);
    if (shape == nullptr) continue;
    if (!spec.shape.empty()) config::fail_at(shape->at, "{}: only one kind of draw", keys.what());
    spec.draw = draw;
    spec.shape = read_shape(*shape, name);
  }
  if (spec.draw == Draw::kIntegers) {
    const config::Value& below = keys.require("below");
    const std::int64_t bound = below.as_integer("below");
    if (bound < 1 || bound > std::int64_t{1} << 31) {
      config::fail_at(below.at, "below must be between 1 and 2147483648, not {}", bound);
    }
    spec.below = static_cast<std::uint64_t>(bound);
  }
  keys.finish();
  if (spec.shape.empty()) {
    config::fail_at(entry.value.at,
                    "{} says nothing to draw; write {{normal: [samples, ...]}}, {{uniform: ...}} "
                    "or {{integers: ..., below: ...}}",
                    keys.what());
  }
  if (const auto seed = entry.dataset.get_integer("seed")) {
    spec.seed = static_cast<std::uint64_t>(*seed);
  }
  return [spec](const OpenContext& context) {
    return std::make_unique<SyntheticSource>(spec, context);
  };
}

}  // namespace

const Format kSynthetic{.name = "synthetic", .parse = parse};

}  // namespace meshwork::data
