#pragma once

#include <cstdint>
#include <optional>

#include "config/value.h"
#include "model/losses/loss.h"

namespace meshwork::losses {

/// The key `axis` of losses and metrics that go along the last dimension.
class LastAxis {
 public:
  explicit LastAxis(config::Reader& args);

  /// An Error where the key names another dimension than the last of the predictions.
  void check(const Comparison& c) const;

 private:
  std::optional<std::int64_t> axis_;
  config::Location at_;
};

/// `compare` behind that check.
CompareFunction along_last(config::Reader& args, CompareFunction compare);

}  // namespace meshwork::losses
