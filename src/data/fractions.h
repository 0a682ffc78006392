#pragma once

#include <cstdint>

#include "config/value.h"

namespace meshwork::data {

/// A part of what stands in an order, from the fraction `begin` of it to `end`.
struct Fraction {
  double begin = 0;
  double end = 1;
};

/// How many of `count` a fraction takes, rounded down; a sum of fractions may have been rounded.
std::int64_t count_of(double fraction, std::int64_t count);

/// Whether a split is a part of the `files`; null: there are none.
bool is_part(const config::Value::Entry& split, const config::Value* files);

/// Reads `splits: {train: 0.9, validation: 0.1}`, an entry of which takes the part of the `files`
/// behind those of the entries before it, the last of which ends at `begin`.
Fraction read_fraction(const config::Value::Entry& split, double begin);

}  // namespace meshwork::data
