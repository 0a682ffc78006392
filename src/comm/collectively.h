#pragma once

#include <functional>

#include "comm/host_group.h"

namespace meshwork {

/// Every member does `work`, LocalWork that must not communicate; then all return, or all throw.
/// Where some members failed, all throw the Error of the lowest of them, so member 0 can print it.
/// An exception that is no Error leaves the member as it is and reaches the others as an Error with
/// its text.
///
///     collectively(hosts, [&] { if (hosts.rank() == 0) create_run_directory(path, text); });
void collectively(HostGroup& hosts, const std::function<void()>& work);

}  // namespace meshwork
