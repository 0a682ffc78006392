#pragma once

#include <string>

namespace meshwork {

/// The name of this machine; "" where the system does not tell.
std::string host_name();

}  // namespace meshwork
