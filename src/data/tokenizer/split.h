#pragma once

#include "data/tokenizer/pattern.h"
#include "data/tokenizer/pre_tokenizer.h"

namespace meshwork::data {

/// What becomes of the matches when a text is cut: SplitDelimiterBehavior of the library.
enum class MatchFate { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// Cuts a piece into matches and what lies between them. `inverts`: these change places.
PreTokenizer split_at(Segments segments, MatchFate fate, bool inverts = false);

}  // namespace meshwork::data
