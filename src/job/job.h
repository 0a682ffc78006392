#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "comm/communicator.h"
#include "compile.h"
#include "data/dataset.h"

namespace meshwork {

/// Which of the programs over one configuration.
struct ProgramKey {
  ProgramKind kind = ProgramKind::kTrain;
  std::int64_t batch = 0;
  std::int64_t tokens = 0;  ///< of kDecode: that are read of each sequence
  auto operator<=>(const ProgramKey&) const = default;
};

/// A device that is ready to run programs, and how it reaches the others.
struct DeviceParts {
  std::shared_ptr<Backend> backend;
  std::shared_ptr<Communicator> devices;
};

/// Makes a device that is as `target` says, over the communicator of the host's processes or
/// threads: null for a device that is only asked, and reaches no other.
using DeviceFactory =
    std::function<DeviceParts(const Target& target, std::shared_ptr<Communicator> hosts)>;

/// All that is known before a device starts. Every device reads it, none changes it.
struct Job {
  config::Config config;
  Mesh mesh;
  Target target;  ///< of the devices that the configuration asks for, see target_of()
  std::shared_ptr<data::Dataset> dataset;
  Signature signature;  ///< inputs and the label, as the model reads them
  data::Split split;  ///< to train on, without what validation takes off; or to evaluate or predict
  std::optional<data::Split> validation;  ///< what `fit` validates on, if it does
  std::map<ProgramKey, GlobalProgram> programs;
  std::map<ProgramKind, data::Split> splits;  ///< that the programs run over
  DeviceFactory device_factory;               ///< of tests: see make_device()
  std::shared_ptr<PassTimes> pass_times;      ///< of all compilations, where somebody asks
};

/// Reads headers of the data, fixes the mesh for this launch. `devices` is the number of ranks, or
/// 0 without mpirun. Throws Error for whatever does not go together.
Job make_job(config::Config config, int devices);

/// The same to evaluate the split of that name, or that which is evaluated by default; no other is
/// opened.
Job make_evaluation_job(config::Config config, int devices, const std::string& split);

/// The same to predict: of this split, just what the inputs of the model take.
Job make_prediction_job(config::Config config, int devices, const std::string& split);

/// The same without data: its signature is what the model states.
Job job_without_data(config::Config config, int devices);

/// As make_job(); without data where they are not there, of which `missing` then tells.
Job make_job_if_possible(const config::Config& config, int devices, std::string& missing);

/// The job with these rules in the place of its own, without programs.
Job with_layouts(Job job, std::vector<config::LayoutRule> layout_map,
                 std::vector<config::LayoutRule> optimizer_layout);

/// The split that evaluate and predict read: `name`, or validation, else test, else train.
data::Split evaluation_split(const Job& job, const std::string& name);

/// What the compiler may know of the devices that a configuration asks for, in this launch.
Target target_of(const config::Config& config, const Mesh& mesh);

/// Whether its devices are GPUs.
bool is_on_gpus(const Job& job);

/// Whether it has data, and a `compile:` section.
bool can_train(const Job& job);

/// The fields of a split as the model sees them: labels are those of names::kLabels, weights of
/// samples those of names::kSampleWeight, all others are inputs.
Signature signature_of(const data::Split& split);
/// The same with how they are stored, for programs of a kind.
Signature signature_of(const data::Split& split, ProgramKind kind);

/// The sizes of the batches of one pass over `samples`: a full one and what is left over.
std::vector<std::int64_t> batch_sizes(std::int64_t samples, std::int64_t batch);

/// The size of the batches that programs of a kind run over.
std::int64_t batch_size_of(const config::FitSpec& fit, ProgramKind kind);

/// The kind under which Job::splits has what programs of `kind` run over.
ProgramKind split_kind(ProgramKind kind);

/// Lets programs of `kind` run over a split: numbers of rows of tables (Embedding) are read as
/// whole ones, which are checked.
void use_split(Job& job, ProgramKind kind, const data::Split& split);

/// Whether training has steps that keep their gradients for a later one, which updates.
bool accumulates_gradients(const Job& job);

/// Compiles programs of `kind` for every batch size of a split, once for all devices; with those
/// that train, also those that accumulate gradients, if the optimizer does.
void add_programs(Job& job, ProgramKind kind, const data::Split& split);
/// Where devices keep sums apart from step to step (gradients that accumulate), the program that
/// adds them up; the programs that train must be there. See Session::reduce_sums().
void add_reduction(Job& job);
/// A program that runs over no data, or is not to run; `trace` as in compile(), if the job does not
/// have it yet.
void add_program(Job& job, ProgramKind kind, std::int64_t batch, CompileTrace* trace = nullptr);

/// Compiles the program that reads so many tokens of each of `batch` sequences (kDecode).
void add_decoder(Job& job, std::int64_t batch, std::int64_t tokens);

/// What devices take in this launch, of which the calling thread takes on the number of threads.
MemoryQuery memory_query(const Job& job);
/// The same for a device of the job that is there; `backend` outlives what is returned.
MemoryQuery memory_query(const Job& job, const Backend& backend);

/// Throws a configuration Error unless this launch has the devices of the mesh: names the right
/// command. Without mpirun a mesh of up to 1024 devices will do.
void check_launch(const Job& job, const std::string& command);

/// The one way to a device: what the job asks for, for the calling thread. See DeviceFactory.
DeviceParts make_device(const Job& job, std::shared_ptr<Communicator> hosts = nullptr);

/// Runs `work` once for every device: in this rank under mpirun, else on one thread per device.
/// The first failure ends all, and is thrown here.
void run_on_devices(const Job& job, const std::function<void(const World&)>& work);

/// All programs as one number.
std::uint64_t programs_hash(const Job& job);

}  // namespace meshwork
