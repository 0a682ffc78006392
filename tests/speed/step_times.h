#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/loader.h"
#include "train/runner.h"

namespace meshwork::speed {

/// A batch that stays.
class HeldBatch {
 public:
  explicit HeldBatch(const data::Batch& batch);
  const data::Batch& get() const { return batch_; }

 private:
  data::Batch batch_;
  std::vector<std::vector<std::byte>> bytes_;
};

/// Seconds of a training step: each element is the mean over the steps of one sample.
struct StepTimes {
  std::vector<double> from_loader;  ///< as fit runs them
  std::vector<double> from_memory;  ///< all on the same batch
  std::int64_t steps = 0;           ///< of a sample
};

/// Times training steps of a session whose variables are initialized. All devices make one and call
/// it together.
class StepTimer {
 public:
  /// Runs some steps to warm up; samples are for about `seconds` in all.
  StepTimer(const Session& session, Runner& runner, data::Loader& loader, double seconds);

  /// How many to take.
  std::int64_t samples() const { return samples_; }
  /// One of each kind.
  void sample();
  const StepTimes& times() const { return times_; }

 private:
  void step_from_loader() { runner_.step(loader_, iteration_++, rate_); }
  void step_from_memory() { runner_.step(held_->get(), iteration_++, rate_); }

  const Session& session_;
  Runner& runner_;
  data::Loader& loader_;
  double rate_;
  std::int64_t iteration_ = 0;
  std::int64_t samples_ = 0;
  std::optional<HeldBatch> held_;
  StepTimes times_;
};

double median(std::vector<double> values);

}  // namespace meshwork::speed
