#pragma once

#include <string>

#include "job/job.h"

namespace meshwork {

/// Devices on this node: ranks, or all of the mesh, which are threads of one process.
int devices_on_node(const Mesh& mesh);

/// How many devices of this process hold parts of the same samples of a field, each that holds any;
/// a rank is alone.
int devices_with_samples(const Job& job, const ProgramKey& key, const std::string& field);

}  // namespace meshwork
