#include "support/partitioned_run.h"

#include <cstring>
#include <mutex>

#include "base/check.h"
#include "comm/thread.h"
#include "exec/executable.h"
#include "graph/op_def.h"
#include "spmd/partition.h"
#include "state/tensor_part.h"

namespace meshwork::testing {
namespace {

/// Copies between a device's part and the global tensor.
void exchange(const TensorView& part, HostTensor& global, bool to_device) {
  const std::size_t size = size_of(part.type.dtype);
  for_each_run(part.window, part.type.shape, [&](const Run& run) {
    std::byte* whole = global.bytes.data() + static_cast<std::size_t>(run.global) * size;
    std::byte* mine = part.data + static_cast<std::size_t>(run.local) * size;
    const auto bytes = static_cast<std::size_t>(run.count) * size;
    to_device ? std::memcpy(mine, whole, bytes) : std::memcpy(whole, mine, bytes);
  });
}

}  // namespace

std::vector<std::string> collectives_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const Instruction& instruction : plan.instructions) {
    for (const ValueId id : instruction.nodes) {
      const OpDef& op = *plan.program.node(id).op;
      if (op.collective != Collective::kNone) names.emplace_back(op.name);
    }
  }
  return names;
}

namespace {

Partitioned partition(const Graph& graph, const PinnedLayouts& pinned, const Mesh& mesh) {
  const Partitioned agreed = insert_reshards(propagate(graph, pinned, mesh, {}), mesh, {});
  verify(agreed, mesh);
  Partitioned program = choose_collectives(agreed, mesh);
  verify(program, mesh);
  return program;
}

/// One device of many, with what it keeps from program to program.
struct Device {
  Communicator& world;
  const Mesh& mesh;
  std::unique_ptr<Backend> backend = make_cpu_backend(1);
  CommunicatorGroups groups{world};
};

/// Runs the device's part of a program and puts its parts of the outputs into `result`.
void run_on(Device& device, const Partitioned& program,
            const std::map<std::string, HostTensor>& inputs, std::mutex& mutex,
            PartitionedRun& result) {
  Backend& backend = *device.backend;
  const WorkspaceQuery workspace = [&](const Graph& local, const Instruction& instruction) {
    return kernel_workspace(backend, local, instruction);
  };
  Graph local = prune(localize(program, device.mesh, device.world.rank()));
  verify(local);
  const Plan plan = make_plan(std::move(local), workspace);
  Arena arena{backend.allocate(plan.arena_bytes)};
  const Executable executable(plan, backend, device.groups, arena);
  for (const auto& [name, tensor] : inputs) {
    HostTensor copy = tensor;
    const TensorView view = executable.input(name);
    MW_CHECK(view.data != nullptr, "no input '{}'", name);
    exchange(view, copy, true);
  }
  executable.run();
  const std::lock_guard lock(mutex);
  for (auto& [name, tensor] : result.outputs) exchange(executable.output(name), tensor, false);
  if (device.world.rank() == 0) {
    result.traffic = traffic(plan);
    result.collectives = collectives_of(plan);
  }
}

}  // namespace

std::vector<PartitionedRun> run_partitioned(const Graph& graph,
                                            const std::vector<PinnedLayouts>& layouts,
                                            const Mesh& mesh,
                                            const std::map<std::string, HostTensor>& inputs) {
  std::vector<Partitioned> programs;
  std::vector<PartitionedRun> results;
  for (const PinnedLayouts& pinned : layouts) {
    programs.push_back(partition(graph, pinned, mesh));
    PartitionedRun& result = results.emplace_back();
    for (const NamedValue& output : graph.outputs) {
      result.outputs[output.name] = host_tensor(graph.type(output.value));
    }
  }
  std::mutex mutex;
  run_devices(mesh.num_devices(), [&](Communicator& world) {
    Device device{.world = world, .mesh = mesh};
    for (std::size_t i = 0; i < programs.size(); ++i) {
      run_on(device, programs[i], inputs, mutex, results[i]);
    }
  });
  return results;
}

}  // namespace meshwork::testing
