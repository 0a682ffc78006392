#pragma once

#include <string>

#include "job/job.h"

namespace meshwork {

/// All devices call it; `options`: lines on what they were started with that decides on the calls
/// they make. Throws an Error of ExitCode::kCommunication on all of them where some have
/// other versions, another configuration, other options, other data, other tuned products or other
/// programs than the first, and says what differs: "rank 2 has another configuration than rank 0:
/// 'epochs: 5' there, 'epochs: 3' here"; and the Error of a file of tuned products that one cannot
/// read. Of processors that differ the first one warns.
void check_same_job(const Job& job, HostGroup& hosts, const std::string& options = "");

}  // namespace meshwork
