#pragma once

#include <string>

#include "comm/host_group.h"

namespace meshwork {

/// All devices call it, each with the file of weights, or the checkpoint, that it is about to read:
/// each machine may have one of its own. Throws an Error of ExitCode::kCommunication on all of them
/// where some would read others than the first: other tensors, or other numbers at the places that
/// are looked at. Of weights that were trained apart these nearly always differ. Errors of reading
/// reach all.
void check_same_weights(const std::string& path, HostGroup& hosts);

}  // namespace meshwork
