#pragma once

#include "comm/host_group.h"
#include "job/device_plans.h"

namespace meshwork {

/// All devices call it. A broken invariant on all of them where some come to other collectives than
/// the first, or in another order: they would wait for each other for ever.
void check_same_calls(const DevicePlans& plans, HostGroup& hosts);

}  // namespace meshwork
