#include "data/augment/augment.h"

namespace meshwork::data {

const std::vector<const ImageOpDef*>& image_ops() {
  static const std::vector<const ImageOpDef*> ops{
      &kRandomCrop,         //
      &kRandomFlip,         //
      &kRandomRotation,     //
      &kRandomTranslation,  //
      &kRandomZoom,         //
  };
  return ops;
}

}  // namespace meshwork::data
