#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "state/safetensors_header.h"

namespace meshwork {

/// The tensor of that path among these, which are in path order; nullptr if there is none.
const StoredTensor* find_stored(const std::vector<StoredTensor>& tensors, std::string_view path);

bool is_same_type(const StoredTensor& stored, const GlobalTensor& tensor);

/// Whether the variable of that path may keep the value that it has; empty: none may.
using MayKeep = std::function<bool(const std::string& path)>;

/// Paths of those of `expected` that are not `stored`, or are of another type there, and may keep
/// their values. `places` as below.
std::set<std::string> kept_variables(const std::vector<StoredTensor>& stored,
                                     const std::vector<GlobalTensor>& expected,
                                     const MayKeep& may_keep,
                                     const std::map<std::string, std::string>& places = {});

/// Throws an Error of ExitCode::kFile, which begins with `file` and lists, with the nearest names,
/// all tensors of `expected` that are not `stored` or are of another type, and those stored that
/// nobody expects, unless `allow_extra`. `places`: paths in the file of those that it has under
/// another one.
void check_stored_tensors(const std::string& file, const std::vector<StoredTensor>& stored,
                          const std::vector<GlobalTensor>& expected, bool allow_extra,
                          const std::map<std::string, std::string>& places = {});

}  // namespace meshwork
