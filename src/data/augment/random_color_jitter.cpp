// RandomBrightness, RandomContrast, RandomSaturation and RandomHue one after the other, those whose
// factors are there.
#include <array>
#include <utility>

#include "data/augment/colors.h"
#include "data/augment/compose.h"

namespace meshwork::data {
namespace {

std::vector<ImageOp> expand(config::Reader& args) {
  read_value_range(args);
  const config::Value& range = args.require("value_range");
  const std::array<std::pair<const char*, const ImageOpDef*>, 4> parts{
      {{"brightness_factor", &kRandomBrightness},
       {"contrast_factor", &kRandomContrast},
       {"saturation_factor", &kRandomSaturation},
       {"hue_factor", &kRandomHue}}};
  std::vector<ImageOp> steps;
  for (const auto& [key, def] : parts) {
    const config::Value* const factor = args.find(key);
    if (factor == nullptr) continue;
    ImageOp step = part(*def, args, {{"factor", *factor}, {"value_range", range}});
    step.name = fmt::format("{} of RandomColorJitter", key);
    steps.push_back(std::move(step));
  }
  if (steps.empty()) {
    config::fail_at(args.at(),
                    "{} changes nothing: give one or more of brightness_factor, contrast_factor, "
                    "saturation_factor and hue_factor",
                    args.what());
  }
  return steps;
}

}  // namespace

const ImageOpDef kRandomColorJitter{.names = {"RandomColorJitter", "random_color_jitter"},
                                    .expand = expand};

}  // namespace meshwork::data
