#pragma once

#include <cstdint>
#include <memory>

#include "data/formats/token_row.h"

namespace meshwork::data {

/// A stretch of a row of token numbers.
struct Stretch {
  TokenRow row;
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

/// What stands beside the tokens of a window where documents are known, int32 [context]. A window
/// begins in segment 0 at position 0, whatever part of a document that is.
enum class DocumentField {
  kLabels,     ///< the next token; -1 where that begins another document
  kSegments,   ///< the number of the document among those of the window
  kPositions,  ///< tokens of the document before this one, in the window
};
std::unique_ptr<Source> cut_document_windows(const Stretch& stretch, const Windows& windows,
                                             DocumentField field);

}  // namespace meshwork::data
