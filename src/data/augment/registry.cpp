#include "data/augment/augment.h"

namespace meshwork::data {

const std::vector<const ImageOpDef*>& image_ops() {
  static const std::vector<const ImageOpDef*> ops{
      &kAutoContrast,
      &kEqualization,
      &kRandAugment,
      &kRandomBrightness,
      &kRandomColorDegeneration,
      &kRandomColorJitter,
      &kRandomContrast,
      &kRandomCrop,
      &kRandomErasing,
      &kRandomFlip,
      &kRandomGaussianBlur,
      &kRandomGrayscale,
      &kRandomHue,
      &kRandomInvert,
      &kRandomPerspective,
      &kRandomPosterization,
      &kRandomRotation,
      &kRandomSaturation,
      &kRandomSharpness,
      &kRandomShear,
      &kRandomTranslation,
      &kRandomZoom,
      &kSolarization,
  };
  return ops;
}

}  // namespace meshwork::data
