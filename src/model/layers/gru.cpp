// z, r = sigmoid(x W + h U + b); g = tanh(x W + b + r (h U + b')), or without reset_after
// tanh(x W + (r h) U + b); h' = z h + (1 - z) g. Columns of the kernels and the bias: z, r, g.
#include "model/layers/recurrent.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

constexpr std::int64_t kCandidate = 2;

void read(config::Reader& args, CellFacts& cell) {
  if (args.get("reset_after", true)) cell.second_bias = kCandidate;
}

/// r (h U + b'), or (r h) U
ValueId reset(GraphBuilder& b, const CellFacts& cell, RecurrentKernel& kernel, ValueId state,
              ValueId gate, const Gates& h) {
  if (cell.second_bias < 0 && b.shape(state).empty()) return state;
  if (cell.second_bias < 0) return kernel.product(ops::multiply(b, gate, state), 2, 1)[2];
  ValueId candidate = h[kCandidate];
  if (cell.recurrent_bias != kNoValue) candidate = ops::add(b, candidate, cell.recurrent_bias);
  return ops::multiply(b, gate, candidate);
}

States step(GraphBuilder& b, const CellFacts& cell, const Gates& x, RecurrentKernel& kernel,
            const States& before) {
  const bool resets_after = cell.second_bias >= 0;
  const ValueId state = before[0];
  const Gates h = kernel.product(state, 0, resets_after ? 3 : 2);
  const auto gate = [&](std::int64_t i) {
    return cell.recurrent_activation(b, ops::add(b, x[i], h[i]));
  };
  const ValueId update = gate(0);
  const ValueId from_state = reset(b, cell, kernel, state, gate(1), h);
  const ValueId candidate = cell.activation(b, ops::add(b, x[kCandidate], from_state));
  return {ops::add(b, ops::multiply(b, update, state),
                   ops::multiply(b, ops::one_minus(b, update), candidate))};
}

constexpr CellDef kCell{.name = "gru_cell", .gates = 3, .read = read, .step = step};

}  // namespace

const LayerDef kGru = recurrent_layer<kCell>("GRU");

}  // namespace meshwork::layers
