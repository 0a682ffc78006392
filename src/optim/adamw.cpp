// Adam with weight decay by default (Loshchilov and Hutter 2019)
#include "optim/adam_rule.h"

namespace meshwork::optimizers {

const OptimizerDef kAdamW{.names = {"AdamW"},
                          .path = "adam_w",
                          .learning_rate = 0.001,
                          .weight_decay = 0.004,
                          .read = read_adam_rule,
                          .slots = {{"momentum", "velocity"}, {"velocity_hat"}}};

}  // namespace meshwork::optimizers
