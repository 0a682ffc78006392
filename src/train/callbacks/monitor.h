#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/value.h"
#include "train/callbacks/callback.h"

namespace meshwork {

/// The arguments `monitor` and `mode`, and what they mean: which number of the logs a callback
/// looks at, and whether less or more of it is better.
class Monitor {
 public:
  /// `mode: auto` takes the direction from the metric. Throws Error for a number that the run will
  /// not log, and where no direction is known. `min_delta`: a change of less is no improvement.
  Monitor(config::Reader& args, const CallbackContext& context, double min_delta = 0);

  const std::string& name() const { return name_; }

  /// The number in these logs, if they have it: not every epoch validates.
  std::optional<double> find(const Logs& logs) const;

  /// Whether `value` is better than `reference`, as Keras compares: in float32. Everything is
  /// better than nothing.
  bool improves(double value, std::optional<double> reference) const;

  /// Adds to the state of a callback what its best value is a value of.
  void add_to(Json& state) const;
  /// Whether the state of a callback, of that name, was judged by the same number; says so if not.
  bool has_judged(const Json& state, std::string_view callback, Training& training) const;

 private:
  std::string mode() const { return greater_is_better_ ? "max" : "min"; }

  std::string name_;
  bool greater_is_better_ = false;
  double min_delta_ = 0;
};

/// The argument `verbose`: whether the callback says what it does.
bool read_verbose(config::Reader& args);

/// A number as Python prints it: "0.001", "1e-05", "2.0", "nan".
std::string python_text(double value);

}  // namespace meshwork
