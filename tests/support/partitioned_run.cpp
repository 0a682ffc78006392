#include "support/partitioned_run.h"

#include <cstring>
#include <mutex>

#include "base/check.h"
#include "comm/thread.h"
#include "exec/executable.h"
#include "graph/op_def.h"
#include "graph/verifier.h"
#include "spmd/partition.h"
#include "state/tensor_part.h"
#include "support/make_plan.h"

namespace meshwork::testing {
namespace {

/// Copies between a device's part, in host memory, and the global tensor.
void exchange(const TensorView& part, std::byte* local, HostTensor& global, bool to_device) {
  const std::size_t size = size_of(part.type.dtype);
  for_each_run(part.region, part.type.shape, [&](const Run& run) {
    std::byte* whole = global.bytes.data() + static_cast<std::size_t>(run.global) * size;
    std::byte* mine = local + static_cast<std::size_t>(run.local) * size;
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

Partitioned partition(const Graph& graph, const PinnedLayouts& pinned, const Job& job) {
  const Partitioned agreed = insert_reshards(
      propagate(graph, pinned, job.mesh, {.keep_gathered = false, .target = job.target}), job.mesh,
      {});
  verify(agreed, job.mesh);
  Partitioned program = choose_collectives(agreed, job.mesh);
  verify(program, job.mesh);
  return program;
}

/// One device of many, with what it keeps from program to program.
struct Member {
  Member(const World& world, const Job& job)
      : rank(world.hosts->rank()),
        mesh(job.mesh),
        parts(make_device(job, world.devices)),
        groups(*parts.devices),
        streams(parts.backend->device()) {}

  int rank;
  const Mesh& mesh;
  DeviceParts parts;
  CommunicatorGroups groups;
  ProgramStreams streams;
  Verifier verifier = {};
};

/// Runs the device's part of a program and puts its parts of the outputs into `result`.
void run_on(Member& member, const Partitioned& program,
            const std::map<std::string, HostTensor>& inputs, std::mutex& mutex,
            PartitionedRun& result) {
  Backend& backend = *member.parts.backend;
  Device& device = backend.device();
  Stream& stream = *member.streams.compute;
  MemoryQuery query;
  query.workspace = [&](const Graph& local, const Instruction& instruction) {
    return kernel_workspace(backend, local, instruction);
  };
  Graph local = prune(localize(program, member.mesh, member.rank));
  member.verifier.verify(local);
  const Plan plan = make_plan(std::move(local), query);
  const auto arena = device.allocate(plan.arena_bytes);
  const Executable executable(plan, backend, member.streams, member.groups, arena.get());
  std::vector<std::byte> local_bytes;
  const auto host = [&](const TensorView& view) {
    local_bytes.resize(static_cast<std::size_t>(num_bytes(view.type)));
    return local_bytes.data();
  };
  for (const auto& [name, tensor] : inputs) {
    HostTensor copy = tensor;
    const TensorView view = executable.input(name);
    MW_CHECK(view.data != nullptr, "no input '{}'", name);
    exchange(view, host(view), copy, true);
    upload(device, stream, view.data, local_bytes.data(), num_bytes(view.type));
  }
  executable.run();
  const std::lock_guard lock(mutex);
  for (auto& [name, tensor] : result.outputs) {
    const TensorView view = executable.output(name);
    download(device, stream, host(view), view.data, num_bytes(view.type));
    exchange(view, local_bytes.data(), tensor, false);
  }
  if (member.rank == 0) {
    result.traffic = traffic(plan);
    result.collectives = collectives_of(plan);
  }
}

}  // namespace

std::vector<PartitionedRun> run_partitioned(const Graph& graph,
                                            const std::vector<PinnedLayouts>& layouts,
                                            const Mesh& mesh,
                                            const std::map<std::string, HostTensor>& inputs,
                                            const DeviceFactory& make) {
  Job job;
  job.mesh = mesh;
  job.target = cpu_target(1);
  job.device_factory = make;
  std::vector<Partitioned> programs;
  std::vector<PartitionedRun> results;
  for (const PinnedLayouts& pinned : layouts) {
    programs.push_back(partition(graph, pinned, job));
    PartitionedRun& result = results.emplace_back();
    for (const NamedValue& output : graph.outputs) {
      result.outputs[output.name] = host_tensor(graph.type(output.value));
    }
  }
  std::mutex mutex;
  run_devices(mesh.num_devices(), [&](const World& world) {
    Member member(world, job);
    for (std::size_t i = 0; i < programs.size(); ++i) {
      run_on(member, programs[i], inputs, mutex, results[i]);
    }
  });
  return results;
}

}  // namespace meshwork::testing
