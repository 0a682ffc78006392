#pragma once

#include "optim/rule.h"

namespace meshwork {

/// The rule that Adam and AdamW share.
UpdateRule read_adam_rule(config::Reader& args);

}  // namespace meshwork
