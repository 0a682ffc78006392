#pragma once

#include <cstdint>
#include <string>

#include "job/session.h"

namespace meshwork {

/// Reads the weights, and the optimizer's state where it is there, that training starts from: of a
/// file, or of the directory of a checkpoint. Gives the steps that this optimizer has done, else 0.
std::int64_t load_start(Session& session, const std::string& from);

}  // namespace meshwork
