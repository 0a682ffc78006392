#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/value.h"
#include "data/augment/sampling.h"

namespace meshwork::data {

/// An image as it is augmented: dense float32 [height, width, channels].
struct ImageShape {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;

  std::int64_t elements() const { return height * width * channels; }
};

/// What an operation draws for one image: uniform in [0, 1).
using Draws = std::array<float, 4>;

/// Writes the changed image `from` to `to`, of the same shape; they do not overlap. Must be a
/// function of its arguments alone, and allocate nothing.
using ImageFunction =
    std::function<void(const ImageShape& shape, const Draws& draws, const float* from, float* to)>;

/// What an operation that moves pixels is: where it takes them from, and the sampling that its
/// arguments ask for.
struct Motion {
  using Move = std::function<void(const ImageShape& shape, const Draws& draws,
                                  const Sampling& sampling, const float* from, float* to)>;
  Sampling sampling;
  Move move;  ///< as an ImageFunction, with any sampling
};

/// An operation of a description's `augment`, its arguments read.
struct ImageOp {
  std::string name;                   ///< "RandomFlip"
  std::optional<std::uint64_t> seed;  ///< instead of the run's
  std::int64_t channels = 0;          ///< that an image must have; 0: any
  ImageFunction apply;
  /// The same for masks, of which no two pixels are mixed, and those from beyond the edge may be
  /// `fill_value`; null for an operation that leaves pixels where they are.
  std::function<ImageFunction(float fill_value)> for_masks = nullptr;
};

/// A class of operations, by Keras's name and with Keras's arguments.
struct ImageOpDef {
  std::vector<std::string_view> names;  ///< "RandomFlip"
  std::int64_t channels = 0;            ///< that an image must have; 0: any
  /// Reads the arguments; `seed` is read by the caller.
  ImageFunction (*parse)(config::Reader& args) = nullptr;
  /// In place of parse, of a class that moves pixels.
  Motion (*parse_motion)(config::Reader& args) = nullptr;
  /// In place of both, of a class that stands for several operations, one after the other: their
  /// functions, and names and channels where these are not those of the class.
  std::vector<ImageOp> (*expand)(config::Reader& args) = nullptr;
};

extern const ImageOpDef kAutoContrast;
extern const ImageOpDef kEqualization;
extern const ImageOpDef kRandAugment;
extern const ImageOpDef kRandomBrightness;
extern const ImageOpDef kRandomColorDegeneration;
extern const ImageOpDef kRandomColorJitter;
extern const ImageOpDef kRandomContrast;
extern const ImageOpDef kRandomCrop;
extern const ImageOpDef kRandomErasing;
extern const ImageOpDef kRandomFlip;
extern const ImageOpDef kRandomGaussianBlur;
extern const ImageOpDef kRandomGrayscale;
extern const ImageOpDef kRandomHue;
extern const ImageOpDef kRandomInvert;
extern const ImageOpDef kRandomPerspective;
extern const ImageOpDef kRandomPosterization;
extern const ImageOpDef kRandomRotation;
extern const ImageOpDef kRandomSaturation;
extern const ImageOpDef kRandomSharpness;
extern const ImageOpDef kRandomShear;
extern const ImageOpDef kRandomTranslation;
extern const ImageOpDef kRandomZoom;
extern const ImageOpDef kSolarization;

/// All classes, sorted by name.
const std::vector<const ImageOpDef*>& image_ops();

/// The operation of a class that is one, but for its name and seed.
ImageOp make_op(const ImageOpDef& def, config::Reader& args);

/// What `ops` do to masks of the images: as many operations, without a function where nothing is to
/// be done.
std::vector<ImageOp> ops_for_masks(std::vector<ImageOp> ops, float fill_value);

/// Reads `augment: [RandomFlip: {mode: horizontal}, ...]`; one operation needs no list. Throws a
/// configuration Error with place for what is unknown or wrong.
std::vector<ImageOp> read_augment(const config::Value& augment);

}  // namespace meshwork::data
