#include "speed/step_times.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "optim/optimizer.h"

namespace meshwork::speed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUpSteps = 2;
constexpr double kFewestSamples = 3;  ///< of each kind
constexpr double kMostSamples = 7;

/// Mean seconds of `count` steps, over all devices.
double sample(Communicator& world, std::int64_t count, const std::function<void()>& step) {
  world.barrier();
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < count; ++i) step();
  world.barrier();
  return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(count);
}

}  // namespace

HeldBatch::HeldBatch(const data::Batch& batch) : batch_(batch) {
  for (data::FieldBatch& field : batch_.fields) {
    const std::int64_t bytes = num_bytes(TensorType{field.dtype, field.part.shape});
    bytes_.emplace_back(field.data, field.data + bytes);
    field.data = bytes_.back().data();
  }
}

StepTimes time_steps(const Session& session, Runner& runner, data::Loader& loader, double seconds) {
  Communicator& world = session.world();
  const double rate = learning_rate_of(session.job().config.compile->optimizer)(0);
  std::int64_t iteration = 0;
  const auto from_loader = [&] { runner.step(loader, iteration++, rate); };
  sample(world, kWarmUpSteps, from_loader);
  const double once = sample(world, kWarmUpSteps, from_loader);
  const HeldBatch held(loader.next());
  const auto from_memory = [&] { runner.step(held.get(), iteration++, rate); };

  StepTimes times;
  auto samples =
      static_cast<std::int64_t>(std::clamp(seconds / (2 * once), kFewestSamples, kMostSamples));
  const double steps = seconds / (2 * static_cast<double>(samples) * once);
  times.steps = std::max<std::int64_t>(1, std::llround(steps));
  world.broadcast(&samples, sizeof samples, 0);
  world.broadcast(&times.steps, sizeof times.steps, 0);
  sample(world, times.steps, from_loader);
  for (std::int64_t i = 0; i < samples; ++i) {
    times.from_loader.push_back(sample(world, times.steps, from_loader));
    times.from_memory.push_back(sample(world, times.steps, from_memory));
  }
  return times;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace meshwork::speed
