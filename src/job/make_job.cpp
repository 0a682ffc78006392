#include <algorithm>
#include <optional>

#include "backend/cuda_libraries.h"
#include "base/error.h"
#include "base/names.h"
#include "data/find_file.h"
#include "device/cuda_device.h"
#include "job/job.h"
#include "job/local_devices.h"
#include "machine/topology.h"
#include "model/input_fields.h"
#include "sharding/refine_mesh.h"

namespace meshwork {
namespace {

void add_field(const Field& field, Signature& signature) {
  if (field.name == names::kLabels) {
    signature.label = field;
  } else if (field.name == names::kSampleWeight) {
    signature.sample_weight = field;
  } else {
    signature.inputs.push_back(field);
  }
}

/// How a program gets a field; nullopt: as the model reads it.
std::optional<StoredField> stored_field(const data::Field& field, ProgramKind kind) {
  const data::Arrival arrival = data::arrival_of(field, trains(kind));
  StoredField stored{.dtype = field.source->info().dtype,
                     .conversion = field.conversion,
                     .normalization = field.normalization,
                     .classes = field.classes};
  if (arrival == data::Arrival::kAugmented) return std::nullopt;
  if (arrival == data::Arrival::kRows) stored.resident = field.source->info().shape[0];
  if (kind != ProgramKind::kPredict) stored.mask = field.mask;
  const bool is_raw = stored.resident == 0 && !stored.mask && stored.dtype == field.dtype &&
                      !field.conversion.scales() && field.normalization.empty() &&
                      field.classes == 0;
  if (is_raw) return std::nullopt;
  return stored;
}

}  // namespace

Signature signature_of(const data::Split& split) {
  Signature signature;
  for (const data::Field& field : split.fields) {
    add_field({field.name, field.dtype, field.shape}, signature);
  }
  return signature;
}

Signature signature_of(const data::Split& split, ProgramKind kind) {
  Signature signature;
  for (const data::Field& field : split.fields) {
    add_field({field.name, field.dtype, field.shape, stored_field(field, kind)}, signature);
  }
  return signature;
}

namespace {

/// Whether there is a GPU that can be used, and all that it needs.
bool have_gpus() {
  try {
    check_gpus();
    check_product_library();
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Target target_of(const config::Config& config, const Mesh& mesh) {
  const bool on_gpus = config.device == config::DeviceKind::kCuda ||
                       (config.device == config::DeviceKind::kAuto && have_gpus());
  if (on_gpus) {
    Target target = cuda_target();
    target.tensor_float32 = config.tensor_float32;
    target.nccl = config.collectives == config::Collectives::kNccl;
    return target;
  }
  return cpu_target(threads_per_device(devices_on_node(mesh)));
}

namespace {

/// The mesh with axes in parts where heads of keys are fewer than devices; as it is where the model
/// has mistakes, of which compiling tells.
Mesh refined_mesh(const Job& job) {
  if (job.config.layout_map.empty() || job.mesh.num_devices() == 1) return job.mesh;
  try {
    const Graph graph = build_model(job.config, job.signature, Mode::kPredict, 1);
    return refine_mesh(graph, job.config, job.mesh);
  } catch (const Error&) {
    return job.mesh;
  }
}

/// What a job is made of before its data are opened.
Job job_with_dataset(config::Config config, int devices) {
  if (config.dataset.is_null()) {
    fail("{}: no dataset; add 'dataset: fashion_mnist' or a description in place", config.file);
  }
  Job job;
  job.mesh = make_mesh(config.mesh, devices);
  job.target = target_of(config, job.mesh);
  job.dataset = std::make_shared<data::Dataset>(config.dataset, config.seed);
  job.config = std::move(config);
  return job;
}

/// What validation_split makes of the data to train on.
std::pair<data::Split, data::Split> split_validation(const data::Split& split,
                                                     const config::FitSpec& fit) {
  try {
    return data::split_validation(split, fit.validation_split);
  } catch (const Error& error) {
    config::fail_at(fit.validation_at, "fit: {}", error.what());
  }
}

}  // namespace

Job make_job(config::Config given, int devices) {
  Job job = job_with_dataset(std::move(given), devices);
  config::Config& config = job.config;
  job.split = job.dataset->split("train");
  if (config.fit.validation_split > 0) {
    auto [train, validation] = split_validation(job.split, config.fit);
    job.split = std::move(train);
    if (config.fit.validation) job.validation = std::move(validation);
  } else if (config.fit.validation) {
    const auto name = job.dataset->validation_name();
    if (!name) {
      config::fail_at(config.fit.validation_at,
                      "fit: validation is true, but {} has no validation or test split; set "
                      "validation_split, or validation: false",
                      job.dataset->name().empty()
                          ? "the dataset"
                          : fmt::format("dataset '{}'", job.dataset->name()));
    }
    job.validation = job.dataset->split(*name);
  }
  job.signature = signature_of(job.split);
  if (config.fit.steps_per_epoch && !config.fit.batch_size_is_given) {
    const std::int64_t steps = *config.fit.steps_per_epoch;
    config.fit.batch_size = (job.split.samples - 1) / steps + 1;
  }
  if (config.fit.drop_remainder && job.split.samples < config.fit.batch_size) {
    config::fail_at(config.fit.at,
                    "fit: drop_remainder leaves no batch: {} samples to train on do not fill one "
                    "of {}; lower batch_size",
                    job.split.samples, config.fit.batch_size);
  }
  job.mesh = refined_mesh(job);
  return job;
}

namespace {

/// Those that inputs of the model take; all of them where one finds none.
std::vector<std::string> input_fields(const config::Config& config,
                                      const std::vector<std::string>& fields) {
  const std::vector<std::string> labels = label_names(config);
  std::vector<std::string> taken;
  for (const config::InputSpec& input : config.model.inputs) {
    const std::optional<std::string> field = field_for(input, config.model, fields, labels);
    if (!field) return fields;
    taken.push_back(*field);
  }
  return taken;
}

}  // namespace

data::Split evaluation_split(const Job& job, const std::string& name) {
  const config::FitSpec& fit = job.config.fit;
  if (!name.empty()) return job.dataset->split(name);
  if (fit.validation && fit.validation_split > 0) {
    return split_validation(job.dataset->split("train"), fit).second;
  }
  return job.dataset->split(job.dataset->validation_name().value_or("train"));
}

namespace {

/// No other split is opened.
Job job_over_split(Job job, const std::string& split) {
  job.split = evaluation_split(job, split);
  job.signature = signature_of(job.split);
  job.mesh = refined_mesh(job);
  return job;
}

}  // namespace

Job make_evaluation_job(config::Config config, int devices, const std::string& split) {
  return job_over_split(job_with_dataset(std::move(config), devices), split);
}

Job make_prediction_job(config::Config config, int devices, const std::string& split) {
  Job job = job_with_dataset(std::move(config), devices);
  job.dataset->keep_fields(input_fields(job.config, job.dataset->field_names()));
  return job_over_split(std::move(job), split);
}

Job job_without_data(config::Config config, int devices) {
  Job job;
  job.mesh = make_mesh(config.mesh, devices);
  job.target = target_of(config, job.mesh);
  job.signature = stated_signature(config.model);
  job.config = std::move(config);
  job.mesh = refined_mesh(job);
  return job;
}

Job with_layouts(Job job, std::vector<config::LayoutRule> layout_map,
                 std::vector<config::LayoutRule> optimizer_layout) {
  job.programs.clear();
  job.splits.clear();
  job.config.layout_map = std::move(layout_map);
  job.config.optimizer_layout = std::move(optimizer_layout);
  job.config.strategy = config::Strategy::kModelParallel;
  job.mesh = make_mesh(job.config.mesh, job.mesh.num_devices());
  job.mesh = refined_mesh(job);
  return job;
}

Job make_job_if_possible(const config::Config& config, int devices, std::string& missing) {
  try {
    return make_job(config, devices);
  } catch (const data::MissingData& error) {
    missing = error.what();
  } catch (const Error& error) {
    if (!config.dataset.is_null()) throw;
    missing = error.what();
  }
  return job_without_data(config, devices);
}

}  // namespace meshwork
