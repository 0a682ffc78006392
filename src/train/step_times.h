#pragma once

#include <cstdint>
#include <map>

namespace meshwork {

/// How long steps take. Times are kept in classes that are 1 % wide, whatever their number.
class StepTimes {
 public:
  void add(double seconds);

  std::int64_t count() const { return count_; }
  double total() const { return total_; }
  double most() const { return most_; }
  /// The time that this part of the steps does not exceed, to 1 %; 0 without any.
  double quantile(double part) const;

 private:
  std::map<int, std::int64_t> counts_;  ///< by class
  std::int64_t count_ = 0;
  double total_ = 0;
  double most_ = 0;
};

}  // namespace meshwork
