#include "train/step_times.h"

#include <algorithm>
#include <cmath>

namespace meshwork {
namespace {

constexpr double kRatio = 1.01;
constexpr double kShortest = 1e-9;

}  // namespace

void StepTimes::add(double seconds) {
  const double time = std::max(seconds, kShortest);
  ++counts_[static_cast<int>(std::lround(std::log(time) / std::log(kRatio)))];
  ++count_;
  total_ += time;
  most_ = std::max(most_, time);
}

double StepTimes::quantile(double part) const {
  const auto wanted = static_cast<std::int64_t>(std::ceil(part * static_cast<double>(count_)));
  std::int64_t seen = 0;
  for (const auto& [number, count] : counts_) {
    seen += count;
    if (seen >= std::max<std::int64_t>(wanted, 1)) return std::pow(kRatio, number);
  }
  return 0;
}

}  // namespace meshwork
