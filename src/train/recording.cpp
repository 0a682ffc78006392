#include "train/recording.h"

#include <algorithm>
#include <mutex>

#include "base/conversion.h"
#include "base/rng.h"
#include "job/session.h"
#include "optim/optimizer.h"
#include "train/adapt.h"
#include "train/load_start.h"
#include "train/runner.h"
#include "train/trainer.h"

namespace meshwork {
namespace {

/// Elements that are kept of a tensor in each step.
constexpr std::int64_t kMostElements = std::int64_t{1} << 13;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::vector<RecordedTensor> without_values(const std::vector<GlobalTensor>& variables,
                                           std::int64_t steps) {
  std::vector<RecordedTensor> tensors;
  for (const GlobalTensor& variable : variables) {
    const std::int64_t elements = num_elements(variable.shape);
    RecordedTensor tensor{.path = variable.path,
                          .shape = variable.shape,
                          .stride = std::max<std::int64_t>(1, ceil_div(elements, kMostElements)),
                          .values = {}};
    const auto kept = static_cast<std::size_t>(ceil_div(elements, tensor.stride));
    tensor.values.assign(static_cast<std::size_t>(steps) + 1, std::vector<float>(kept));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

/// Writes what this device owns of the variables; each device writes other elements.
void record_variables(Session& session, std::size_t step, std::vector<RecordedTensor>& tensors) {
  session.reduce_sums();
  for (const TensorPart& part : session.variable_parts()) {
    if (!part.owner) continue;
    const GlobalTensor& variable = session.variables()[part.tensor];
    RecordedTensor& tensor = tensors[part.tensor];
    const std::size_t size = size_of(variable.dtype);
    read_part(variable, part,
              [&](std::int64_t global, const std::byte* elements, std::int64_t count) {
                std::int64_t kept = ceil_div(global, tensor.stride);
                for (; kept * tensor.stride < global + count; ++kept) {
                  const auto at = static_cast<std::size_t>(kept * tensor.stride - global);
                  tensor.values[step][static_cast<std::size_t>(kept)] =
                      static_cast<float>(value_at(elements + at * size, variable.dtype));
                }
              });
  }
}

/// Replicas are disturbed alike.
void disturb_weights(const Session& session, double disturbance, std::uint64_t draw) {
  for (std::size_t i = 0; i < session.weights().size(); ++i) {
    const TensorView& view = session.weight(i);
    if (view.type.dtype != DType::kFloat32) continue;
    const std::uint64_t key = random_key(session.job().config.seed, session.weights()[i].path);
    std::vector<float> local(static_cast<std::size_t>(num_elements(view.type.shape)));
    session.download(local.data(), view);
    for_each_run(view.region, view.type.shape, [&](const Run& run) {
      for (std::int64_t k = 0; k < run.count; ++k) {
        const float drawn = uniform_at(key, draw, static_cast<std::uint64_t>(run.global + k));
        float& value = local[static_cast<std::size_t>(run.local + k)];
        value = static_cast<float>(value * (1 + disturbance * (2.0 * drawn - 1)));
      }
    });
    session.upload(view, local.data());
  }
}

}  // namespace

void prepare_recording(Job& job) {
  add_program(job, ProgramKind::kInitialize, 0);
  add_programs(job, ProgramKind::kTrain, job.split);
  add_reduction(job);
  job.split = job.splits.at(ProgramKind::kTrain);
}

Recording record_steps(const Job& job, const RecordingOptions& options) {
  Recording recording;
  std::once_flag once;
  run_on_devices(job, [&](const World& world) {
    Session session(job, world);
    std::call_once(once,
                   [&] { recording.tensors = without_values(session.variables(), options.steps); });
    session.initialize();
    std::int64_t first = 0;
    if (options.from.empty()) {
      adapt_to_data(session);
    } else {
      first = load_start(session, options.from).iteration;
    }
    if (options.disturbance > 0) disturb_weights(session, options.disturbance, options.draw);
    record_variables(session, 0, recording.tensors);
    Runner runner(session, ProgramKind::kTrain, job.split);
    data::Loader loader(job.split, training_options(job, runner.staging_memory()), runner.parts());
    const Schedule rate = learning_rate_of(job.config.compile->optimizer);
    for (std::int64_t step = 0; step < options.steps; ++step) {
      runner.step(loader, first + step, rate(first + step));
      const double loss = runner.loss();
      if (session.is_first()) recording.losses.push_back(loss);
      record_variables(session, static_cast<std::size_t>(step) + 1, recording.tensors);
    }
  });
  return recording;
}

}  // namespace meshwork
