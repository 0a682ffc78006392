#pragma once

#include "optim/rule.h"

namespace meshwork {

struct AdamArguments {
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
};

/// Reads beta_1, beta_2 and epsilon; `prefix` stands before the first two: "adam_".
AdamArguments read_moments(config::Reader& args, const std::string& prefix = "");

/// What the weight becomes; the learning rate is multiplied by `rate`.
ValueId update_by_adam(WeightUpdate& u, const AdamArguments& args, double rate = 1);

/// The rule that Adam and AdamW share.
UpdateRule read_adam_rule(config::Reader& args);

}  // namespace meshwork
