#pragma once

#include <map>
#include <string>
#include <vector>

#include "job/job.h"
#include "plan/plan.h"
#include "sharding/layout_map.h"
#include "support/host_tensor.h"

namespace meshwork::testing {

/// What a partitioned program gave, put together again from the parts of all devices.
struct PartitionedRun {
  std::map<std::string, HostTensor> outputs;
  std::vector<Traffic> traffic;          ///< of device 0
  std::vector<std::string> collectives;  ///< of device 0, in order: "all_reduce", ...
};

/// Partitions a program for a mesh with each of the given layouts, runs these one after the other
/// on virtual devices, and gathers their outputs. `inputs` are global tensors
/// by the names of the input nodes.
std::vector<PartitionedRun> run_partitioned(const Graph& graph,
                                            const std::vector<PinnedLayouts>& layouts,
                                            const Mesh& mesh,
                                            const std::map<std::string, HostTensor>& inputs,
                                            const DeviceFactory& make = {});

/// Collectives of device 0's plan that send anything.
std::vector<std::string> collectives_of(const Plan& plan);

}  // namespace meshwork::testing
