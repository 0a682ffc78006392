#pragma once

#include "model/layers/layer.h"

/// What Keras's operations (keras.ops) have in common as layers. They compute in the dtype of what
/// they are given, whatever the policy of the model, and no mask comes out of them.
namespace meshwork::layers {

inline constexpr std::string_view kNumpyOperations = "keras.src.ops.numpy";

/// x; of whole numbers, in float32.
ValueId to_real(Scope& scope, ValueId x);

/// The output of an operation, in the dtype that it has. An Error for arguments that every layer
/// has, and no operation.
ValueId give(Scope& scope, config::Reader& args, ValueId y);

/// The key `axis`, without which Keras's operations go over the batch, too: an Error here.
std::vector<std::int64_t> require_sample_axes(config::Reader& args, std::size_t rank);

}  // namespace meshwork::layers
