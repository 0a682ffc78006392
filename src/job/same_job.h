#pragma once

#include "job/job.h"

namespace meshwork {

/// All devices call it. Throws an Error of ExitCode::kCommunication on all of them where one has
/// other versions, another configuration, other data or other programs than the first, and says
/// what differs: "rank 2 has another configuration than rank 0: 'epochs: 5' there, 'epochs: 3'
/// here".
void check_same_job(const Job& job, HostGroup& hosts);

}  // namespace meshwork
