#include "job/job.h"

#include <xxhash.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/join.h"
#include "comm/cuda_communicator.h"
#include "comm/mpi.h"
#include "comm/nccl_communicator.h"
#include "comm/thread.h"
#include "data/check_values.h"
#include "data/image_masks.h"
#include "device/cuda_device.h"
#include "exec/collective_call.h"
#include "exec/executable.h"
#include "job/device_plans.h"
#include "machine/launch.h"
#include "machine/memory.h"
#include "machine/topology.h"
#include "model/decoder.h"
#include "optim/optimizer.h"

namespace meshwork {
namespace {

constexpr std::string_view kCuda = "cuda";

void add_program(Job& job, const ProgramKey& key, const Signature& signature,
                 CompileTrace* trace = nullptr) {
  if (job.programs.contains(key)) return;
  // Programs that only set variables have no batch; one sample will do to build the model.
  const std::int64_t size = std::max<std::int64_t>(key.batch, 1);
  CompileOptions options{.watch = {.dump = {}, .times = job.pass_times.get()}, .trace = trace};
  // Only the search for what meets a limit asks.
  if (job.config.memory_limit) options.query = memory_query(job);
  job.programs.emplace(
      key, compile(job.config, signature, job.mesh, job.target, key.kind, size, options));
}

}  // namespace

bool is_on_gpus(const Job& job) { return job.target.name == kCuda && !job.device_factory; }

bool can_train(const Job& job) { return job.dataset != nullptr && job.config.compile; }

std::vector<std::int64_t> batch_sizes(std::int64_t samples, std::int64_t batch) {
  std::vector<std::int64_t> sizes;
  if (samples >= batch) sizes.push_back(batch);
  if (samples % batch != 0) sizes.push_back(samples % batch);
  return sizes;
}

std::int64_t batch_size_of(const config::FitSpec& fit, ProgramKind kind) {
  const bool evaluates = kind == ProgramKind::kEvaluate;
  return evaluates ? fit.validation_batch_size.value_or(fit.batch_size) : fit.batch_size;
}

MemoryQuery memory_query(const Job& job) {
  const std::shared_ptr<Backend> backend = make_device(job).backend;
  MemoryQuery query = memory_query(job, *backend);
  query.workspace = [backend, workspace = std::move(query.workspace)](
                        const Graph& program, const Instruction& instruction) {
    return workspace(program, instruction);
  };
  return query;
}

namespace {

/// Bytes of all stored samples that programs of the job read where they are.
std::int64_t resident_bytes(const Job& job) {
  std::set<const data::Source*> sources;
  const auto add = [&](ProgramKind kind, const data::Split& split) {
    for (const data::Field& field : split.fields) {
      const bool is_read = data::arrival_of(field, trains(kind)) == data::Arrival::kRows;
      if (is_read) sources.insert(field.source.get());
    }
  };
  for (const auto& [kind, split] : job.splits) add(kind, split);
  const bool validates = job.validation && job.splits.contains(ProgramKind::kTrain);
  if (validates) add(ProgramKind::kEvaluate, *job.validation);
  return stored_bytes(sources);
}

}  // namespace

MemoryQuery memory_query(const Job& job, const Backend& backend) {
  MemoryQuery query;
  query.workspace = [&backend](const Graph& program, const Instruction& instruction) {
    return kernel_workspace(backend, program, instruction);
  };
  // Other devices read samples where the host has them, and collectives take memory of the host.
  if (!is_on_gpus(job)) return query;
  query.collective = [target = job.target](const Graph& program, const Instruction& instruction) {
    const CollectiveCall call = collective_call(program, instruction.nodes, target);
    return target.nccl ? nccl_call_bytes(call) : cuda_call_bytes(call);
  };
  query.samples = resident_bytes(job);
  return query;
}

ProgramKind split_kind(ProgramKind kind) {
  return kind == ProgramKind::kAccumulate ? ProgramKind::kTrain : kind;
}

void add_program(Job& job, ProgramKind kind, std::int64_t batch, CompileTrace* trace) {
  const auto split = job.splits.find(split_kind(kind));
  add_program(job, {kind, batch},
              split == job.splits.end() ? job.signature : signature_of(split->second, kind), trace);
}

void add_decoder(Job& job, std::int64_t batch, std::int64_t tokens) {
  add_program(job, {ProgramKind::kDecode, batch, tokens}, part_signature(job.config, tokens));
}

namespace {

/// The split with fields of numbers of rows as whole numbers, and how many rows there are.
data::Split with_table_rows(const Job& job, data::Split split) {
  const auto tables = table_rows(job.config, signature_of(split));
  for (data::Field& field : split.fields) {
    const auto table = tables.find(field.name);
    const bool is_raw =
        !field.conversion.scales() && field.normalization.empty() && field.augment.empty();
    if (table == tables.end() || !is_raw || field.classes > 0) continue;
    field.dtype = field.conversion.dtype = DType::kInt32;
    field.table_rows = table->second.count;
    field.table = table->second.path;
    data::check_vocabulary(field);
  }
  return split;
}

/// The split with what its labels may be by the losses of `compile`, unless the file leaves them
/// unchecked.
data::Split with_class_ranges(const Job& job, data::Split split) {
  if (!job.config.check_labels || !job.config.compile) return split;
  const auto ranges = class_ranges(job.config, signature_of(split));
  for (data::Field& field : split.fields) {
    const auto range = ranges.find(field.name);
    if (range == ranges.end()) continue;
    field.label_limit = range->second.count;
    field.ignored_label = range->second.ignored;
    data::check_fill_value(field);
    data::check_vocabulary(field);
  }
  return split;
}

}  // namespace

void use_split(Job& job, ProgramKind kind, const data::Split& split) {
  job.splits.insert_or_assign(kind, with_table_rows(job, split));
}

bool accumulates_gradients(const Job& job) {
  return steps_per_update(job.config.compile->optimizer) > 1;
}

void add_programs(Job& job, ProgramKind kind, const data::Split& split) {
  const config::FitSpec& fit = job.config.fit;
  use_split(job, kind, split);
  std::vector<std::int64_t> sizes = batch_sizes(split.samples, batch_size_of(fit, kind));
  if (kind == ProgramKind::kTrain && fit.drop_remainder) sizes.resize(1);
  for (const std::int64_t batch : sizes) {
    add_program(job, kind, batch);
    if (kind == ProgramKind::kTrain && accumulates_gradients(job)) {
      add_program(job, ProgramKind::kAccumulate, batch);
    }
  }
  if (kind != ProgramKind::kPredict) {
    data::Split& kept = job.splits.at(kind);
    kept = with_class_ranges(job, std::move(kept));
  }
}

void add_reduction(Job& job) {
  const auto is_partial = [](const LayoutMatch& variable) {
    return !variable.layout.partial.empty();
  };
  const bool any = std::ranges::any_of(job.programs, [&](const auto& program) {
    return std::ranges::any_of(program.second.variables, is_partial);
  });
  if (any) add_program(job, ProgramKind::kReduce, 0);
}

namespace {

/// Devices that are threads of one process, each with some MB of its own.
constexpr int kMostThreads = 1024;

}  // namespace

void check_launch(const Job& job, const std::string& command) {
  const JobLaunch launch = launch_from_environment();
  const int devices = job.mesh.num_devices();
  if (!launch.by_mpirun) {
    if (devices <= kMostThreads) return;
    config::fail_at(job.config.mesh.at,
                    "the mesh {} has {} devices, but as threads of one process there are at most "
                    "{}; run 'mpirun -n {} {}', or change the mesh with --mesh",
                    to_string(job.mesh), devices, kMostThreads, devices, command);
  }
  if (launch.size == devices) return;
  config::fail_at(job.config.mesh.at,
                  "the mesh {} has {} devices, but mpirun started {} ranks; run 'mpirun -n {} {}', "
                  "or change the mesh with --mesh",
                  to_string(job.mesh), devices, launch.size, devices, command);
}

namespace {

DeviceParts make_cuda_device_parts(const Target& target, std::shared_ptr<Communicator> hosts) {
  if (hosts == nullptr) return {make_cuda_backend(std::nullopt, target), nullptr};
  const int gpu = gpu_of_device(hosts->rank());
  const bool by_nccl = target.nccl && hosts->size() > 1;
  return {make_cuda_backend(gpu, target), by_nccl ? nccl_communicator(std::move(hosts), gpu)
                                                  : cuda_communicator(std::move(hosts), gpu)};
}

}  // namespace

DeviceParts make_device(const Job& job, std::shared_ptr<Communicator> hosts) {
  if (job.device_factory) return job.device_factory(job.target, std::move(hosts));
  if (is_on_gpus(job)) return make_cuda_device_parts(job.target, std::move(hosts));
  return {make_cpu_backend(job.target.threads), std::move(hosts)};
}

namespace {

/// Says what GPUs lack, before anything starts. Whether ranks share one they find out together:
/// each may see GPUs of its own.
void check_gpus(const Job& job, const JobLaunch& launch) {
  gpu_count();  // throws where there is no driver
  const int devices = job.mesh.num_devices();
  if (!job.target.nccl || devices == 1) return;
  check_nccl();
  if (launch.by_mpirun) return;
  config::fail_at(job.config.mesh.at,
                  "collectives: nccl: without mpirun the {} devices of the mesh {} are threads of "
                  "one process, where exchanges by NCCL may wait for each other for ever; start "
                  "the same command by 'mpirun -n {}', or say collectives: canonical",
                  devices, to_string(job.mesh), devices);
}

}  // namespace

void run_on_devices(const Job& job, const std::function<void(const World&)>& work) {
  const JobLaunch launch = launch_from_environment();
  if (is_on_gpus(job)) check_gpus(job, launch);
  check_address_space(job.target.threads * (launch.by_mpirun ? 1 : job.mesh.num_devices()));
  if (launch.by_mpirun) {
    MpiSession session(job.config.stall_timeout);
    work(session.world());
  } else {
    run_devices(job.mesh.num_devices(), work);
  }
}

std::uint64_t programs_hash(const Job& job) {
  std::string text = fmt::format("{} [{}] seed {}\n", to_string(job.mesh),
                                 join(job.mesh.devices, ","), job.config.seed);
  for (const auto& [key, program] : job.programs) {
    text += fmt::format("{} {} {}\n", static_cast<int>(key.kind), key.batch, key.tokens);
    text += print(program.partitioned, job.mesh) + to_string(program.target);
    text += fmt::format("fusions {}\n", join(program.fusions, " "));
  }
  return XXH64(text.data(), text.size(), 0);
}

}  // namespace meshwork
