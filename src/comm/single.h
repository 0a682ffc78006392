#pragma once

#include <functional>
#include <memory>

#include "comm/communicator.h"

namespace meshwork {

/// The communicator of one device alone: reductions and exchanges are copies. After abort, which
/// calls `on_abort(exit_code)` if given, its calls throw.
std::unique_ptr<Communicator> single_communicator(std::function<void(int)> on_abort = {});

}  // namespace meshwork
