#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/value.h"

namespace meshwork::data {

/// How an image goes on beyond its edge, for the pixels a b c d:
enum class FillMode {
  kReflect,   ///< d c b a | a b c d | d c b a
  kConstant,  ///< k k k k | a b c d | k k k k
  kWrap,      ///< a b c d | a b c d | a b c d
  kNearest,   ///< a a a a | a b c d | d d d d
};

enum class Interpolation { kNearest, kBilinear };

/// How an operation takes values from between and beyond pixels.
struct Sampling {
  FillMode fill_mode = FillMode::kReflect;
  float fill_value = 0;  ///< k of kConstant, as training sees it: after scale, mean and std
  Interpolation interpolation = Interpolation::kBilinear;
};

/// Keras's arguments fill_mode and fill_value.
void read_fill(config::Reader& args, FillMode default_mode, Sampling& sampling);
/// Keras's argument interpolation.
Interpolation read_interpolation(config::Reader& keys);

/// The pixel 0..size-1 that stands at `index`; -1 for the fill value.
std::int64_t source_index(std::int64_t index, std::int64_t size, FillMode mode);

/// Bounds of a random number, lower <= upper.
struct Range {
  double lower = 0;
  double upper = 0;
  double at(double draw) const { return lower + draw * (upper - lower); }
};

/// Keras's factors: f stands for [-|f|, |f|], from `least` on. Numbers outside of [least, 1] are
/// Errors, and so is `least` itself where `open`.
Range read_factor(const config::Value& value, std::string_view key, double least,
                  bool open = false);
/// Of an argument that may be absent.
Range read_factor(config::Reader& args, std::string_view key, double least, Range fallback);

/// Keras's argument factor where it is a probability, which Keras draws from a range: what comes of
/// that is its mean. Of 1 it is 0.5, which also is the default; [1, 1] is always.
double read_probability(config::Reader& args);

}  // namespace meshwork::data
