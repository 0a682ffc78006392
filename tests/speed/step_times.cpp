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
constexpr double kKinds = 2;          ///< of samples
constexpr double kFewestSamples = 3;  ///< of each kind
constexpr double kMostSamples = 7;

/// Until all devices have done what is enqueued.
void wait_for_all(const Session& session) {
  const auto done = session.device().make_event();
  session.stream().record(*done);
  done->wait();
  session.hosts().barrier();
}

/// Mean seconds of `count` steps, over all devices.
double seconds_of(const Session& session, std::int64_t count, const std::function<void()>& step) {
  wait_for_all(session);
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < count; ++i) step();
  wait_for_all(session);
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

StepTimer::StepTimer(const Session& session, Runner& runner, data::Loader& loader, double seconds)
    : session_(session),
      runner_(runner),
      loader_(loader),
      rate_(learning_rate_of(session.job().config.compile->optimizer)(0)) {
  const auto step = [&] { step_from_loader(); };
  seconds_of(session_, kWarmUpSteps, step);
  const double once = seconds_of(session_, kWarmUpSteps, step);
  held_.emplace(loader.next());
  samples_ = static_cast<std::int64_t>(
      std::clamp(seconds / (kKinds * once), kFewestSamples, kMostSamples));
  const double steps = seconds / (kKinds * static_cast<double>(samples_) * once);
  times_.steps = std::max<std::int64_t>(1, std::llround(steps));
  session.hosts().broadcast(&samples_, sizeof samples_, 0);
  session.hosts().broadcast(&times_.steps, sizeof times_.steps, 0);
  seconds_of(session_, times_.steps, step);
}

void StepTimer::sample() {
  times_.from_loader.push_back(seconds_of(session_, times_.steps, [&] { step_from_loader(); }));
  times_.from_memory.push_back(seconds_of(session_, times_.steps, [&] { step_from_memory(); }));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace meshwork::speed
