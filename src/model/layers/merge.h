#pragma once

#include <span>
#include <vector>

#include "model/layers/layer.h"

namespace meshwork::layers {

/// The inputs of a merging layer, brought to one rank as in Keras: extents of one go in after the
/// batch dimension. An Error if they do not broadcast.
std::vector<ValueId> to_one_rank(Scope& scope, const config::Reader& args,
                                 std::span<const ValueId> inputs);

/// op(op(inputs[0], inputs[1]), inputs[2]) ..
ValueId fold(Scope& scope, const config::Reader& args, std::span<const ValueId> inputs,
             const OpDef& op);

}  // namespace meshwork::layers
