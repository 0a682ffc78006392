// i, f, o = sigmoid(x W + h U + b), g = tanh(x W + h U + b); c' = f c + i g; h' = o tanh(c').
// Columns of the kernels and the bias: i, f, g, o.
#include "model/layers/recurrent.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

void read(config::Reader& args, CellFacts& cell) {
  if (args.get("unit_forget_bias", true)) cell.gate_of_ones = 1;
}

States step(GraphBuilder& b, const CellFacts& cell, const Gates& x, RecurrentKernel& kernel,
            const States& before) {
  const Gates h = kernel.product(before[0], 0, 4);
  const auto gate = [&](std::int64_t i) { return ops::add(b, x[i], h[i]); };
  const ValueId input = cell.recurrent_activation(b, gate(0));
  const ValueId forget = cell.recurrent_activation(b, gate(1));
  const ValueId candidate = cell.activation(b, gate(2));
  const ValueId output = cell.recurrent_activation(b, gate(3));
  const ValueId carry =
      ops::add(b, ops::multiply(b, forget, before[1]), ops::multiply(b, input, candidate));
  return {ops::multiply(b, output, cell.activation(b, carry)), carry};
}

constexpr CellDef kCell{.name = "lstm_cell", .gates = 4, .states = 2, .read = read, .step = step};

}  // namespace

const LayerDef kLstm = recurrent_layer<kCell>("LSTM");

}  // namespace meshwork::layers
