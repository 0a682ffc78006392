// Pads an image on all sides by `padding` pixels and cuts an image of the old size out of it, at a
// place of its own for each image; all places are equally likely. Keras's RandomCrop cuts to a
// smaller `height` and `width`, at one place for a whole batch, and pads nothing.
#include <algorithm>
#include <limits>

#include "data/augment/augment.h"
#include "data/augment/sampling.h"

namespace meshwork::data {
namespace {

struct Crop {
  std::int64_t vertical = 0;  ///< pixels added above and below
  std::int64_t horizontal = 0;
};

/// 0..2 * padding, minus the padding.
std::int64_t shift(float draw, std::int64_t padding) {
  const std::int64_t places = 2 * padding + 1;
  const auto place = static_cast<std::int64_t>(draw * static_cast<double>(places));
  return std::min(place, places - 1) - padding;
}

void apply(const Crop& crop, const ImageShape& shape, const Draws& draws, const Sampling& sampling,
           const float* from, float* to) {
  const std::int64_t down = shift(draws[0], crop.vertical);
  const std::int64_t right = shift(draws[1], crop.horizontal);
  for (std::int64_t i = 0; i < shape.height; ++i) {
    const std::int64_t row = source_index(i + down, shape.height, sampling.fill_mode);
    for (std::int64_t j = 0; j < shape.width; ++j, to += shape.channels) {
      const std::int64_t column = source_index(j + right, shape.width, sampling.fill_mode);
      if (row < 0 || column < 0) {
        std::fill_n(to, shape.channels, sampling.fill_value);
      } else {
        std::copy_n(from + (row * shape.width + column) * shape.channels, shape.channels, to);
      }
    }
  }
}

std::int64_t read_pixels(const config::Value& value) {
  const std::int64_t pixels = value.as_integer("padding");
  if (pixels < 0 || pixels > std::numeric_limits<std::int32_t>::max()) {
    config::fail_at(value.at, "padding must be a number of pixels, not {}", pixels);
  }
  return pixels;
}

Motion parse(config::Reader& args) {
  Crop crop;
  for (const char* key : {"height", "width"}) {
    if (const config::Value* size = args.find(key)) {
      config::fail_at(
          size->at,
          "{} has no {}: it keeps the size of the image; give the pixels to add on each "
          "side as padding",
          args.what(), key);
    }
  }
  const config::Value& padding = args.require("padding");
  if (!padding.is_list()) {
    crop.vertical = crop.horizontal = read_pixels(padding);
  } else if (padding.list.size() == 2) {
    crop.vertical = read_pixels(padding.list[0]);
    crop.horizontal = read_pixels(padding.list[1]);
  } else {
    config::fail_at(padding.at,
                    "padding must be a number of pixels, or a list [vertical, "
                    "horizontal]");
  }
  Sampling sampling;
  read_fill(args, FillMode::kConstant, sampling);
  return {sampling,
          [crop](const ImageShape& shape, const Draws& draws, const Sampling& between,
                 const float* from, float* to) { apply(crop, shape, draws, between, from, to); }};
}

}  // namespace

const ImageOpDef kRandomCrop{.names = {"RandomCrop", "random_crop"}, .parse_motion = parse};

}  // namespace meshwork::data
