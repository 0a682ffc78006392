#pragma once

#include <cstdint>
#include <string>

#include "comm/communicator.h"

namespace meshwork {

/// What is alike in all members that prepare a call: "all_gather of [3, 3, 2] x float32, sum, for
/// dense". Of an all_to_all counts are not.
std::string describe(const CollectiveCall& call);

/// A number of what a call is for, or of that text: the same in all processes of one program.
std::int64_t number_of(const std::string& text);

}  // namespace meshwork
