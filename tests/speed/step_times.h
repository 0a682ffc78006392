#pragma once

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

/// Times training steps of a session whose variables are initialized, for about `seconds`, after
/// some that warm up; samples of the two kinds in turn. All devices call it.
StepTimes time_steps(const Session& session, Runner& runner, data::Loader& loader, double seconds);

double median(std::vector<double> values);

}  // namespace meshwork::speed
