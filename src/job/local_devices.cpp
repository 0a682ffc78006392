#include "job/local_devices.h"

#include "graph/op_def.h"
#include "machine/launch.h"

namespace meshwork {

int devices_on_node(const Mesh& mesh) {
  const JobLaunch launch = launch_from_environment();
  return launch.by_mpirun ? launch.local_size : mesh.num_devices();
}

int devices_with_samples(const Job& job, const ProgramKey& key, const std::string& field) {
  if (launch_from_environment().by_mpirun) return 1;
  const Partitioned& program = job.programs.at(key).partitioned;
  for (const ValueId id : program.graph.ids()) {
    const Node& node = program.graph.node(id);
    if (node.op->leaf != Leaf::kInput || node.attrs.text("name") != field) continue;
    const Layout& layout = program.layouts[id];
    return layout.dims.empty() ? 1 : job.mesh.num_devices() / job.mesh.parts(layout.dims[0]);
  }
  return 1;
}

}  // namespace meshwork
