#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "state/safetensors_header.h"

namespace meshwork {

/// The tensor of that path among these, which are in path order; nullptr if there is none.
const StoredTensor* find_stored(const std::vector<StoredTensor>& tensors, std::string_view path);

bool is_same_type(const StoredTensor& stored, const GlobalTensor& tensor);

/// Throws an Error of ExitCode::kFile, which begins with `file` and lists, with the nearest names,
/// all tensors of `expected` that are not `stored` or are of another type, and those stored that
/// nobody expects, unless `allow_extra`. `places`: paths in the file of those that it has under
/// another one.
void check_stored_tensors(const std::string& file, const std::vector<StoredTensor>& stored,
                          const std::vector<GlobalTensor>& expected, bool allow_extra,
                          const std::map<std::string, std::string>& places = {});

}  // namespace meshwork
