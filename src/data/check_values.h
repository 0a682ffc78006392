#pragma once

#include <cstddef>
#include <cstdint>

#include "data/dataset.h"

namespace meshwork::data {

/// Checks `count` stored elements of a field: a part of sample number `sample` of the source, or
/// all from the beginning of that sample into those after it. An Error for what is no int32 where
/// that is wanted, for finite numbers beyond float32, for labels that are no class, and for numbers
/// of rows that a table does not have.
void check_values(const Field& field, std::int64_t sample, std::int64_t count,
                  const std::byte* stored);

/// An Error where the tokens of a field, or those that a mask makes of them, are known to be more
/// than a table has rows, or a model's output classes.
void check_vocabulary(const Field& field);

/// All stored samples of a field whose arrival is kRows, of which those of the split are checked.
const std::byte* resident_samples(const Split& split, const Field& field);

}  // namespace meshwork::data
