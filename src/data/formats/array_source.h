#pragma once

#include <memory>

#include "data/formats/file_bytes.h"
#include "data/formats/source.h"

namespace meshwork::data {

/// Where an array lies in a file.
struct ArrayHeader {
  Element element;
  Shape shape;
  std::size_t offset = 0;  ///< bytes before the first element
};

/// An array that fills a file from `header.offset` to its end, row-major, perhaps of
/// tokens. Throws Error with ExitCode::kFile if the file has another size.
std::unique_ptr<Source> open_array(std::unique_ptr<FileBytes> file, const ArrayHeader& header,
                                   const OpenContext& context,
                                   std::shared_ptr<const Vocabulary> vocabulary = nullptr);

}  // namespace meshwork::data
