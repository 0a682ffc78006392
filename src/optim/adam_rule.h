#pragma once

#include "optim/rule.h"

namespace meshwork {

struct AdamArguments {
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
};

/// What the weight becomes; the learning rate is multiplied by `rate`.
ValueId update_by_adam(WeightUpdate& u, const AdamArguments& args, double rate = 1);

/// The rule that Adam and AdamW share.
UpdateRule read_adam_rule(config::Reader& args);

}  // namespace meshwork
