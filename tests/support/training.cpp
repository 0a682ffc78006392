#include "support/training.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "data/loader.h"
#include "job/session.h"
#include "optim/optimizer.h"
#include "train/runner.h"

namespace meshwork::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Copies between this device's part of a weight, in host memory, and the global tensor.
void exchange(const TensorView& part, std::vector<float>& local, std::vector<float>& global,
              bool to_local) {
  global.resize(static_cast<std::size_t>(num_elements(part.region.global)));
  local.resize(static_cast<std::size_t>(num_elements(part.type.shape)));
  for_each_run(part.region, part.type.shape, [&](const Run& run) {
    float* whole = global.data() + run.global;
    float* mine = local.data() + run.local;
    to_local ? std::copy_n(whole, run.count, mine) : std::copy_n(mine, run.count, whole);
  });
}

void start_from(const Session& session, const std::map<std::string, std::vector<float>>& initial) {
  for (std::size_t i = 0; i < session.weights().size(); ++i) {
    const auto given = initial.find(session.weights()[i].path);
    if (given == initial.end()) continue;
    std::vector<float> values = given->second, local;
    exchange(session.weight(i), local, values, true);
    session.upload(session.weight(i), local.data());
  }
}

}  // namespace

Job job_of(const std::string& text, const std::string& mesh) {
  return make_job(config::parse_config(text, "test.yaml", {mesh, {}}), 0);
}

Trajectory train(const std::string& text, const TrainOptions& options) {
  Job job = job_of(text, options.mesh);
  job.target.threads = 1;
  if (options.adapt) options.adapt(job.target);
  job.device_factory = options.make_device;
  add_program(job, ProgramKind::kInitialize, 0);
  add_programs(job, ProgramKind::kTrain, job.split);
  Trajectory result;
  std::mutex mutex;
  run_on_devices(job, [&](const World& world) {
    Session session(job, world);
    session.initialize();
    start_from(session, options.initial);
    Runner runner(session, ProgramKind::kTrain, job.split);
    data::Loader loader(job.split,
                        {.batch_size = job.config.fit.batch_size,
                         .shuffle = options.shuffle,
                         .seed = job.config.seed,
                         .drop_remainder = job.config.fit.drop_remainder,
                         .augment = true,
                         .memory = runner.staging_memory()},
                        runner.parts());
    const Schedule rate = learning_rate_of(job.config.compile->optimizer);
    std::vector<double> losses;
    for (std::int64_t step = 0; step < options.steps; ++step) {
      runner.step(loader, step, rate(step));
      losses.push_back(runner.loss());
    }
    const std::uint64_t digest = session.weights_digest();
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < session.weights().size(); ++i) {
      std::vector<float>& values = result.weights[session.weights()[i].path];
      std::vector<float> local(
          static_cast<std::size_t>(num_elements(session.weight(i).type.shape)));
      session.download(local.data(), session.weight(i));
      exchange(session.weight(i), local, values, false);
    }
    if (!session.is_first()) return;
    result.losses = losses;
    result.metrics = runner.logs();
    result.digest = digest;
  });
  return result;
}

double loss_difference(const Trajectory& a, const Trajectory& b) {
  if (a.losses.size() != b.losses.size()) return kInfinity;
  double worst = 0;
  for (std::size_t i = 0; i < a.losses.size(); ++i) {
    const double difference =
        std::abs(a.losses[i] - b.losses[i]) / std::max(std::abs(a.losses[i]), 1e-12);
    worst = std::isnan(difference) ? kInfinity : std::max(worst, difference);
  }
  return worst;
}

double weight_difference(const Trajectory& a, const Trajectory& b) {
  if (a.weights.size() != b.weights.size()) return kInfinity;
  double worst = 0;
  for (const auto& [path, left] : a.weights) {
    const auto right = b.weights.find(path);
    if (right == b.weights.end() || right->second.size() != left.size()) return kInfinity;
    double largest = 1e-3;  // weights that have hardly moved from zero are compared as such
    double difference = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      largest = std::max(largest, static_cast<double>(std::abs(left[i])));
      const double d = std::abs(static_cast<double>(left[i]) - right->second[i]);
      difference = std::isnan(d) ? kInfinity : std::max(difference, d);
    }
    worst = std::max(worst, difference / largest);
  }
  return worst;
}

}  // namespace meshwork::testing
