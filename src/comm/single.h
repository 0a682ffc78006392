#pragma once

#include <functional>
#include <memory>

#include "comm/communicator.h"

namespace meshwork {

/// What one device alone has. After abort, which calls `on_abort(exit_code)` if given, the calls of
/// its host group throw.
World single_world(std::function<void(int)> on_abort = {});

/// The communicator of one device alone, or of a group of one: reductions and exchanges are copies.
std::unique_ptr<Communicator> single_communicator();

}  // namespace meshwork
