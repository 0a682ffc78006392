#pragma once

#include <span>
#include <vector>

#include "model/layers/layer.h"

namespace meshwork::layers {

/// The inputs of a merging layer, brought to one rank as in Keras: extents of one go in after the
/// batch dimension. An Error if they do not broadcast.
std::vector<ValueId> to_one_rank(Scope& scope, const config::Reader& args,
                                 std::span<const ValueId> inputs);

/// The masks of the inputs, brought to one rank like these; kNoValue for an input that has none.
std::vector<ValueId> masks_to_one_rank(Scope& scope, std::span<const ValueId> inputs);

/// A position counts where it does in any mask; kNoValue if one of them is.
ValueId any_counts(GraphBuilder& b, std::span<const ValueId> masks);

/// op(op(inputs[0], inputs[1]), inputs[2]) .., whose mask is any_counts().
ValueId fold(Scope& scope, const config::Reader& args, std::span<const ValueId> inputs,
             const OpDef& op);

/// As fold(), but what a mask hides in one input is taken from the others.
ValueId fold_what_counts(Scope& scope, const config::Reader& args, std::span<const ValueId> inputs,
                         const OpDef& op);

}  // namespace meshwork::layers
