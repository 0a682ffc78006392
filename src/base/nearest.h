#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace meshwork {

/// The candidates closest to `word` by edit distance, best first, at most `count`; only such as a
/// slip of the hand could have turned into it.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates,
                                 std::size_t count = 2);

/// "; nearest: 'units', 'name'", or "; known: 'a', 'b'" where nothing is near.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace meshwork
