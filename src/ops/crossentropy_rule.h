#pragma once

#include <string>

#include "graph/op_def.h"

namespace meshwork::ops {

/// Shape of the labels int32 [..] that stand second, behind logits [.., c] of any float; throws
/// Error if they do not fit.
Shape check_labels(const OpArgs& args);

/// The parts of a dimension rule: "a b [c]" and "a b". All but the classes may be sharded.
struct CrossentropyTexts {
  std::string logits, labels;
};
CrossentropyTexts crossentropy_texts(const OpArgs& args);

}  // namespace meshwork::ops
