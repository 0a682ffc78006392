#include "support/partitioned_run.h"

#include <cstring>
#include <mutex>

#include "base/check.h"
#include "comm/thread.h"
#include "exec/executable.h"
#include "graph/op_def.h"
#include "spmd/partition.h"
#include "train/tensor_part.h"

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

PartitionedRun run_partitioned(const Graph& graph, const PinnedLayouts& pinned, const Mesh& mesh,
                               const std::map<std::string, HostTensor>& inputs) {
  const Partitioned agreed = insert_reshards(propagate(graph, pinned, mesh, {}), mesh, {});
  verify(agreed, mesh);
  const Partitioned program = choose_collectives(agreed, mesh);
  verify(program, mesh);

  PartitionedRun result;
  for (const NamedValue& output : graph.outputs) {
    result.outputs[output.name] = host_tensor(graph.type(output.value));
  }
  std::mutex mutex;
  run_devices(mesh.num_devices(), [&](Communicator& world) {
    const auto backend = make_cpu_backend(1);
    const WorkspaceQuery workspace = [&](const Graph& local, const Node& node) {
      return kernel_workspace(*backend, local, node);
    };
    Graph local = prune(localize(program, mesh, world.rank()));
    verify(local);
    const Plan plan = make_plan(std::move(local), workspace);
    const auto arena = backend->allocate(plan.arena_bytes);
    CommunicatorGroups groups(world);
    const Executable executable(plan, *backend, groups, arena.get());
    for (const auto& [name, tensor] : inputs) {
      HostTensor copy = tensor;
      const TensorView view = executable.input(name);
      MW_CHECK(view.data != nullptr, "no input '{}'", name);
      exchange(view, copy, true);
    }
    executable.run();
    const std::lock_guard lock(mutex);
    for (auto& [name, tensor] : result.outputs) exchange(executable.output(name), tensor, false);
    if (world.rank() == 0) {
      result.traffic = traffic(plan);
      result.collectives = collectives_of(plan);
    }
  });
  return result;
}

}  // namespace meshwork::testing
