#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"

namespace meshwork::data {

/// What to say, for each field, where shuffled samples unpack whole files again and again: how they
/// are read fast.
std::vector<std::string> packed_advice(const Split& split);

}  // namespace meshwork::data
