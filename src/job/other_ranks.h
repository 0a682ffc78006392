#pragma once

#include <string>
#include <vector>

namespace meshwork {

/// "rank 2 has other data than rank 0: 'a' there, 'b' here" by the texts of all ranks, for a `name`
/// of "other data", with the first line that differs; "" where all have the same text.
std::string describe_other_ranks(const std::vector<std::string>& texts, const std::string& name);

}  // namespace meshwork
