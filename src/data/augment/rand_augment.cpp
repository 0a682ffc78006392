// num_ops times one of eleven operations (Cubuk et al. 2019), drawn with equal chance, of a
// strength `factor`. Each image draws operations of its own; Keras 3.15 draws them for a batch.
#include <algorithm>
#include <cmath>
#include <memory>

#include "data/augment/colors.h"
#include "data/augment/compose.h"
#include "data/augment/sampling.h"

namespace meshwork::data {
namespace {

/// More are a mistake.
constexpr int kMostSteps = 100;

config::Value number(double value) { return config::Value::of_text(fmt::format("{}", value)); }

config::Value list(const Range& range) {
  config::Value value;
  value.kind = config::Value::Kind::kList;
  value.list = {number(range.lower), number(range.upper)};
  return value;
}

/// Images that are not of three colours have none to lose.
ImageOp where_colored(ImageOp op) {
  op.apply = [apply = op.apply](const ImageShape& shape, const Draws& draws, const float* from,
                                float* to) {
    if (shape.channels == 3) {
      apply(shape, draws, from, to);
    } else {
      std::copy_n(from, shape.elements(), to);
    }
  };
  return op;
}

/// In Keras's order.
std::vector<ImageOp> operations(config::Reader& args) {
  read_value_range(args);
  const Argument range{"value_range", args.require("value_range")};
  read_interpolation(args);
  const config::Value* const given = args.find("interpolation");
  const Argument between{"interpolation", given == nullptr ? config::Value() : *given};
  const Range strength = read_factor(args, "factor", 0, {0, 0.5});
  const config::Value factor = list(strength);
  const config::Value bits = number(std::max(1.0, std::floor(8 * strength.upper)));
  const auto changed = [&](const ImageOpDef& def) {
    return part(def, args, {{"factor", factor}, range});
  };
  return {
      part(kRandomShear, args, {{"x_factor", factor}, {"y_factor", factor}, between}),
      part(kRandomTranslation, args,
           {{"height_factor", factor}, {"width_factor", factor}, between}),
      part(kRandomRotation, args, {{"factor", factor}, between}),
      changed(kRandomBrightness),
      where_colored(changed(kRandomColorDegeneration)),
      changed(kRandomContrast),
      changed(kRandomSharpness),
      part(kRandomPosterization, args, {{"factor", bits}, range}),
      part(kSolarization, args, {{"addition_factor", factor}, {"threshold_factor", factor}, range}),
      part(kAutoContrast, args, {range}),
      part(kEqualization, args, {range})};
}

/// One of these; an operation without a function changes nothing.
ImageFunction one_of(std::vector<ImageOp> ops) {
  const auto all = std::make_shared<const std::vector<ImageOp>>(std::move(ops));
  return [all](const ImageShape& shape, const Draws& draws, const float* from, float* to) {
    const auto drawn = static_cast<std::size_t>(draws[0] * static_cast<float>(all->size()));
    const ImageFunction& apply = (*all)[std::min(drawn, all->size() - 1)].apply;
    if (apply) {
      apply(shape, {draws[1], draws[2], draws[3]}, from, to);
    } else {
      std::copy_n(from, shape.elements(), to);
    }
  };
}

std::vector<ImageOp> expand(config::Reader& args) {
  const std::vector<ImageOp> all = operations(args);
  const std::int64_t count = args.get("num_ops", 2, config::between(1, kMostSteps));
  ImageOp step;
  step.apply = one_of(all);
  step.for_masks = [all](float fill_value) { return one_of(ops_for_masks(all, fill_value)); };
  return std::vector<ImageOp>(static_cast<std::size_t>(count), step);
}

}  // namespace

const ImageOpDef kRandAugment{.names = {"RandAugment", "rand_augment"}, .expand = expand};

}  // namespace meshwork::data
