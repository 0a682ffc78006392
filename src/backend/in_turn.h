#pragma once

#include <vector>

#include "device/stream.h"

namespace meshwork {

/// One launch after the other; a single one as it is.
Launch in_turn(std::vector<Launch> launches);

}  // namespace meshwork
