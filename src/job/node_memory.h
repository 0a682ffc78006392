#pragma once

#include "job/job.h"

namespace meshwork {

/// Before anything is allocated: what the devices on each node take together, arenas of so many
/// bytes here and the data set once per process, is held against the memory that the cgroup, else
/// the machine, allows there. All devices call it. Throws an Error of ExitCode::kConfiguration on
/// all of them where it is not enough.
void check_node_memory(const Job& job, std::int64_t arena_bytes, HostGroup& hosts);

/// Whether the nodes have memory for so many bytes more beside all that. All devices call it and
/// get one answer.
bool have_node_memory(const Job& job, std::int64_t arena_bytes, std::int64_t more,
                      HostGroup& hosts);

}  // namespace meshwork
