#include "data/augment/augment.h"

namespace meshwork::data {

const std::vector<const ImageOpDef*>& image_ops() {
  static const std::vector<const ImageOpDef*> ops{
      &kAutoContrast,     &kEqualization,  &kRandomBrightness,    &kRandomContrast,
      &kRandomCrop,       &kRandomErasing, &kRandomFlip,          &kRandomGrayscale,
      &kRandomHue,        &kRandomInvert,  &kRandomPosterization, &kRandomRotation,
      &kRandomSaturation, &kRandomShear,   &kRandomTranslation,   &kRandomZoom,
      &kSolarization,
  };
  return ops;
}

}  // namespace meshwork::data
