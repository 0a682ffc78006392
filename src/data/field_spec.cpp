#include "data/field_spec.h"

#include <algorithm>

namespace meshwork::data {
namespace {

using config::fail_at;
using config::Reader;
using config::Value;

std::optional<DType> read_dtype(Reader& options) {
  const Value* value = options.find("dtype");
  if (value == nullptr) return std::nullopt;
  const std::string name = value->as_string("dtype");
  if (name == "float32") return DType::kFloat32;
  if (name == "int32") return DType::kInt32;
  fail_at(value->at, "dtype of a field must be float32 or int32, not '{}'", name);
}

/// One number for all channels, or a list of one for each.
std::vector<double> read_channels(Reader& options, std::string_view key) {
  const Value* value = options.find(key);
  if (value == nullptr) return {};
  if (!value->is_list()) return {value->as_real(key)};
  std::vector<double> numbers;
  for (const Value& item : value->list) numbers.push_back(item.as_real(key));
  if (numbers.empty()) fail_at(value->at, "{} must hold a number for each channel", key);
  return numbers;
}

void read_normalization(FieldSpec& field, Reader& options) {
  field.mean = read_channels(options, "mean");
  field.std = read_channels(options, "std");
  if (field.mean.empty() && field.std.empty()) return;
  for (const double std : field.std) {
    if (!(std > 0)) {
      fail_at(options.find("std")->at, "std must be positive, not {}", std);
    }
  }
  const std::size_t length = std::max(field.mean.size(), field.std.size());
  if (field.mean.size() <= 1) field.mean.resize(length, field.mean.empty() ? 0 : field.mean[0]);
  if (field.std.size() <= 1) field.std.resize(length, field.std.empty() ? 1 : field.std[0]);
  if (field.mean.size() != field.std.size()) {
    fail_at(options.find("std")->at, "mean has {} numbers, std {}; give one for each channel",
            field.mean.size(), field.std.size());
  }
}

void read_shape(FieldSpec& field, Reader& options) {
  const Value* value = options.find("shape");
  if (value == nullptr) return;
  field.shape = value->as_shape("shape");
  for (const std::int64_t extent : *field.shape) {
    if (extent < 1)
      fail_at(value->at, "shape {} has the extent {}", to_string(*field.shape), extent);
  }
}

void read_mask_of(FieldSpec& field, Reader& options) {
  const Value* value = options.find("mask_of");
  if (value == nullptr) return;
  MaskOf& mask = field.mask_of.emplace();
  if (value->as_string("mask_of") == kNoMask) return;
  mask.field = value->scalar;
  mask.fill_value = options.get("fill_value", mask.fill_value);
  for (const char* key : {"mean", "std", "augment"}) {
    const Value* other = options.find(key);
    if (other == nullptr) continue;
    fail_at(other->at, "field '{}' is a mask of '{}', for which there is no {}{}", field.name,
            mask.field, key, std::string_view(key) == "augment" ? ": it is moved as that is" : "");
  }
}

/// What has no meaning for whole numbers or one-hot vectors.
void check_together(const FieldSpec& field, Reader& options) {
  for (const char* key : {"mean", "std", "augment"}) {
    const Value* value = options.find(key);
    if (value == nullptr) continue;
    if (field.dtype == DType::kInt32) {
      fail_at(value->at, "{} needs dtype float32, but field '{}' is int32", key, field.name);
    }
    if (field.one_hot > 0) {
      fail_at(value->at, "field '{}' has one_hot labels, for which there is no {}", field.name,
              key);
    }
  }
  if (field.one_hot > 0 && field.shape) {
    fail_at(options.find("shape")->at,
            "field '{}' has one_hot labels, whose shape is that of the labels and the classes",
            field.name);
  }
}

}  // namespace

FieldSpec read_field(const std::string& name, Reader& options) {
  FieldSpec field;
  field.name = name;
  field.dtype = read_dtype(options);
  field.at = options.at();
  field.scale = options.get("scale", 1.0);
  field.offset = options.get("offset", 0.0);
  if (const Value* classes = options.find("one_hot")) {
    field.one_hot = classes->as_integer("one_hot");
    if (field.one_hot < 1) {
      fail_at(classes->at, "one_hot must be the number of classes, not {}", field.one_hot);
    }
  }
  read_normalization(field, options);
  read_shape(field, options);
  if (const Value* augment = options.find("augment")) field.augment = read_augment(*augment);
  read_mask_of(field, options);
  check_together(field, options);
  return field;
}

std::optional<TokenMask> read_mask(const Value* value) {
  if (value == nullptr) return std::nullopt;
  Reader keys(*value, "mask_tokens");
  TokenMask mask;
  mask.vocabulary_size = keys.require_integer("vocabulary_size", config::at_least(1));
  mask.mask_token_id = keys.require_integer("mask_token_id", config::at_least(0));
  mask.mask_selection_rate =
      keys.get("mask_selection_rate", mask.mask_selection_rate, config::between(0, 1));
  mask.mask_token_rate = keys.get("mask_token_rate", mask.mask_token_rate, config::between(0, 1));
  mask.random_token_rate =
      keys.get("random_token_rate", mask.random_token_rate, config::between(0, 1));
  if (mask.mask_token_rate + mask.random_token_rate > 1) {
    fail_at(value->at, "mask_tokens: mask_token_rate {} and random_token_rate {} are more than 1",
            mask.mask_token_rate, mask.random_token_rate);
  }
  if (std::max(mask.vocabulary_size, mask.mask_token_id) > TokenMask::kMostTokens) {
    fail_at(value->at, "mask_tokens: numbers of tokens are {} at most", TokenMask::kMostTokens);
  }
  if (const Value* ids = keys.find("unselectable_token_ids")) {
    mask.unselectable_token_ids = ids->as_shape("unselectable_token_ids");
  }
  keys.finish();
  return mask;
}

}  // namespace meshwork::data
