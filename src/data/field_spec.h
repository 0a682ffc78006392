#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"
#include "base/token_mask.h"
#include "config/value.h"
#include "data/augment/augment.h"

namespace meshwork::data {

/// What `mask_of` says of a field whose pixels stay where they are.
inline constexpr const char* kNoMask = "none";

/// What a field is a mask of: a field of images, for each pixel of which it has a number. Where
/// augmentation moves the pixels of an image, it moves those of its masks alike.
struct MaskOf {
  std::string field;            ///< empty: of none, as the description says
  std::int64_t fill_value = 0;  ///< of what comes from beyond the edge, where that is filled
};

/// How a field becomes what training sees.
struct FieldSpec {
  std::string name;            ///< "x"
  std::optional<DType> dtype;  ///< as written; default_dtype() where it is not
  double scale = 1.0;          ///< value = raw * scale + offset
  double offset = 0.0;
  std::vector<double> mean;      ///< then value = (value - mean) / std, for each channel or for all
  std::vector<double> std;       ///< both empty, or both of one length
  std::optional<Shape> shape;    ///< of one sample, where it is not that of the file
  std::vector<ImageOp> augment;  ///< for training batches, in this order
  std::optional<MaskOf> mask_of;
  std::optional<TokenMask> mask;
  std::int64_t one_hot = 0;  ///< number of classes; 0: no one-hot vectors
  config::Location at;

  bool is_mask() const { return mask_of && !mask_of->field.empty(); }
};

/// The keys of a field that all formats have. Throws a configuration Error with place.
FieldSpec read_field(const std::string& name, config::Reader& options);

/// The key `mask_tokens` of a dataset, with the names of keras-hub's MaskedLMMaskGenerator; none
/// where it is null.
std::optional<TokenMask> read_mask(const config::Value* value);

}  // namespace meshwork::data
