#pragma once

#include <functional>
#include <vector>

#include "data/formats/concatenated.h"
#include "data/formats/window_source.h"

namespace meshwork::data {

/// Opens rows of tokens, one for each list of files.
using OpenRows = std::function<std::vector<TokenRow>(const std::vector<FileNames>& lists,
                                                     const OpenContext& context)>;

/// What a format of tokens says.
struct TokenFormat {
  OpenRows open;
  /// Whether all lists are opened as soon as one is needed: their tokens are numbered together.
  bool together = false;
};

/// Rows of files that need nothing of each other.
OpenRows open_each(FileOpener open_file);

/// Parses an entry of a format whose samples are windows of tokens: x, and y, the same one token
/// later (with `mask_tokens` the same). Reads the keys `context`, `stride`, `files` and, by `read`,
/// those of the format:
///
///     context: 64                          # tokens of a sample
///     stride: 1                            # from window to window, or {train: 1}; by default
///                                          # the context
///     splits: {train: train.txt, test: [a.txt, b.txt]}
///
/// or parts of the same files, the first split from the beginning:
///
///     files: input.txt
///     splits: {train: 0.9, validation: 0.1}
///
/// With the key `documents`, which is the format's, there are `segments` and `positions`, too
/// (DocumentField), and labels of -1 at the end of documents. All fields and splits of a
/// description share what was opened.
Opener parse_tokens(const FieldEntry& entry, TokenFormat (*read)(config::Reader& dataset));

}  // namespace meshwork::data
