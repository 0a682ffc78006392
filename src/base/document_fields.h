#pragma once

#include <string_view>

namespace meshwork {

/// Names of the fields that a data set of tokens has where it has documents, and of the inputs by
/// which a model takes them, int32 [context] each: to which document of a window a token belongs,
/// and its place in that. A sequence that is generated is one document.
constexpr const char* kSegmentsField = "segments";
constexpr const char* kPositionsField = "positions";

inline bool is_document_field(std::string_view name) {
  return name == kSegmentsField || name == kPositionsField;
}

}  // namespace meshwork
