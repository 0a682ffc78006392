// h' = tanh(x W + h U + b)
#include "model/layers/recurrent.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

States step(GraphBuilder& b, const CellFacts& cell, const Gates& x, RecurrentKernel& kernel,
            const States& before) {
  return {cell.activation(b, ops::add(b, x[0], kernel.product(before[0], 0, 1)[0]))};
}

constexpr CellDef kCell{.name = "simple_rnn_cell", .is_gated = false, .step = step};

}  // namespace

const LayerDef kSimpleRnn = recurrent_layer<kCell>("SimpleRNN");

}  // namespace meshwork::layers
