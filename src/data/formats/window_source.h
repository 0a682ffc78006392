#pragma once

#include <cstdint>
#include <memory>

#include "data/formats/source.h"

namespace meshwork::data {

/// A stretch of a row of token numbers.
struct Stretch {
  std::shared_ptr<const Source> tokens;  ///< of shape [n]
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// How samples are cut from a stretch: sample i is the `context` tokens from i * stride + shift on.
struct Windows {
  std::int64_t context = 0;
  std::int64_t stride = 0;
  std::int64_t shift = 0;  ///< 1: of every token of shift 0 the next one
};

/// The samples [context] of a stretch, which may overlap and are stored nowhere: a sample is copied
/// from the tokens when it is read. There is a sample i where the stretch has its tokens and the
/// one after them, whatever the shift, of 0 or 1, is. The stretch must have context + 1 tokens.
std::unique_ptr<Source> cut_windows(const Stretch& stretch, const Windows& windows);

}  // namespace meshwork::data
