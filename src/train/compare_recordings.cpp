#include "train/compare_recordings.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace meshwork {
namespace {

/// What hangs on few elements, or is nothing but rounding, is not the same twice.
constexpr double kMargin = 32;

/// What is no number is infinitely far from all but its like.
double distance(double a, double b) {
  if (std::isnan(a) && std::isnan(b)) return 0;
  if (a == b) return 0;
  const double difference = std::abs(a - b);
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

double part_of(double difference, double greatest) {
  return difference == 0 ? 0 : difference / std::max(greatest, std::numeric_limits<double>::min());
}

std::string place_of(const RecordedTensor& tensor, std::size_t kept) {
  std::int64_t index = static_cast<std::int64_t>(kept) * tensor.stride;
  Shape place(tensor.shape.size());
  for (std::size_t dim = place.size(); dim-- > 0;) {
    place[dim] = index % tensor.shape[dim];
    index /= tensor.shape[dim];
  }
  return to_string(place);
}

TensorDistance compare(const RecordedTensor& left, const RecordedTensor& right,
                       std::span<const Recording> disturbed, std::size_t number, std::size_t step) {
  MW_CHECK(left.path == right.path && left.shape == right.shape, "{} {}", left.path, right.path);
  const std::vector<float>&a = left.values[step], &b = right.values[step];
  double greatest = 0, difference = 0, by_disturbance = 0;
  std::size_t worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (const float value : {a[i], b[i]}) {
      if (std::isfinite(value)) greatest = std::max<double>(greatest, std::abs(value));
    }
    const double here = distance(a[i], b[i]);
    if (here > difference) worst = i;
    difference = std::max(difference, here);
    for (const Recording& each : disturbed) {
      const float value = each.tensors[number].values[step][i];
      by_disturbance = std::max(by_disturbance, distance(value, b[i]));
    }
  }
  TensorDistance result{
      .path = right.path,
      .distance = {part_of(difference, greatest), part_of(by_disturbance, greatest)},
      .place = {}};
  if (a.empty()) return result;
  result.place = place_of(right, worst);
  result.left = a[worst];
  result.right = b[worst];
  return result;
}

/// 1 where it just is within the tolerance. Of 0 the same bits are wanted.
double excess(const Distance& distance, double tolerance) {
  if (distance.difference == 0) return 0;
  if (tolerance == 0) return std::numeric_limits<double>::infinity();
  return distance.difference / std::max(tolerance, kMargin * distance.disturbed);
}

}  // namespace

bool Distance::is_within(double tolerance) const { return excess(*this, tolerance) <= 1; }

bool RecordingComparison::agrees() const {
  return same_start && std::ranges::all_of(steps, &StepComparison::agrees);
}

RecordingComparison compare_recordings(const Recording& left, const Recording& right,
                                       std::span<const Recording> disturbed, double tolerance) {
  MW_CHECK(!disturbed.empty());
  MW_CHECK(left.tensors.size() == right.tensors.size() &&
           left.losses.size() == right.losses.size());
  RecordingComparison result;
  for (std::size_t i = 0; i < left.tensors.size(); ++i) {
    result.same_start =
        result.same_start && left.tensors[i].values.front() == right.tensors[i].values.front();
  }
  for (std::size_t step = 0; step < left.losses.size(); ++step) {
    StepComparison& here = result.steps.emplace_back();
    here.left_loss = left.losses[step];
    here.right_loss = right.losses[step];
    const double greatest = std::max(std::abs(here.left_loss), std::abs(here.right_loss));
    here.loss.difference = part_of(distance(here.left_loss, here.right_loss), greatest);
    for (const Recording& each : disturbed) {
      const double by_disturbance = distance(each.losses[step], here.right_loss);
      here.loss.disturbed = std::max(here.loss.disturbed, part_of(by_disturbance, greatest));
    }
    for (std::size_t i = 0; i < left.tensors.size(); ++i) {
      TensorDistance tensor = compare(left.tensors[i], right.tensors[i], disturbed, i, step + 1);
      const bool is_worse =
          excess(tensor.distance, tolerance) > excess(here.tensor.distance, tolerance);
      if (is_worse || i == 0) here.tensor = std::move(tensor);
    }
    here.agrees = here.loss.is_within(tolerance) && here.tensor.distance.is_within(tolerance);
  }
  return result;
}

}  // namespace meshwork
