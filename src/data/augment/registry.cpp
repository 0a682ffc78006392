#include "data/augment/augment.h"

namespace meshwork::data {

const std::vector<const ImageOpDef*>& image_ops() {
  static const std::vector<const ImageOpDef*> ops{
      &kRandomBrightness, &kRandomContrast,  &kRandomCrop,        &kRandomErasing,
      &kRandomFlip,       &kRandomGrayscale, &kRandomHue,         &kRandomRotation,
      &kRandomSaturation, &kRandomShear,     &kRandomTranslation, &kRandomZoom,
  };
  return ops;
}

}  // namespace meshwork::data
