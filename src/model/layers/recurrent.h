#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/activations/activation.h"
#include "model/layers/layer.h"

namespace meshwork::layers {

/// The states of a cell, the output first: [1, batch, units] each. Before the first step each is
/// the number 0.
using States = std::vector<ValueId>;

/// Rows [first, first + count), which are read while the others are.
ValueId rows(GraphBuilder& b, ValueId x, std::int64_t first, std::int64_t count);

/// What stands at the gates of a cell in one step: [gates, batch, units], or a number for all.
class Gates {
 public:
  Gates(GraphBuilder& b, ValueId all, std::int64_t first) : b_(b), all_(all), first_(first) {}
  /// [1, batch, units]; of a number this itself.
  ValueId operator[](std::int64_t gate) const;

 private:
  GraphBuilder& b_;
  ValueId all_;
  std::int64_t first_;  ///< gate 0 among `all_`
};

/// The recurrent kernel, and what is dropped of a state before it.
class RecurrentKernel {
 public:
  /// `kernel`: [units, gates, units]. `factors` of a state: [1, batch, units], or others for each
  /// gate, [gates, batch, units]; kNoValue: none.
  RecurrentKernel(GraphBuilder& b, ValueId kernel, ValueId factors)
      : b_(b), kernel_(kernel), factors_(factors) {}

  /// What a state gives to `count` gates from `first` on.
  Gates product(ValueId state, std::int64_t first, std::int64_t count);

 private:
  /// The columns of these gates, one value in all steps.
  ValueId columns(std::int64_t first, std::int64_t count);

  GraphBuilder& b_;
  ValueId kernel_, factors_;
  std::map<std::pair<std::int64_t, std::int64_t>, ValueId> columns_;
};

/// What the formula of a cell knows.
struct CellFacts {
  std::int64_t units = 1;
  Activation activation = {}, recurrent_activation = {};
  std::int64_t gate_of_ones = -1;  ///< whose bias begins at 1
  /// The gates from this one on have a bias of their own behind the recurrent kernel, [units] each,
  /// which the formula adds; those before it have one, too, which is added to that of the input.
  std::int64_t second_bias = -1;
  ValueId recurrent_bias = kNoValue;  ///< of the gate `second_bias`, if there is one
};

/// A cell: what it has beside the arguments that all have, and its formula.
struct CellDef {
  std::string_view name;  ///< "lstm_cell"
  std::int64_t gates = 1;
  std::size_t states = 1;
  bool is_gated = true;  ///< has a recurrent_activation, and may drop otherwise for each gate
  void (*read)(config::Reader& args, CellFacts& cell) = nullptr;
  /// x: what the input gives to each gate.
  States (*step)(GraphBuilder& b, const CellFacts& cell, const Gates& x, RecurrentKernel& kernel,
                 const States& before) = nullptr;
};

/// What the wrapper of a layer says of how it goes over a sequence.
struct Direction {
  bool goes_backwards = false;  ///< whatever its arguments say
  /// It is one of two that go both ways: outputs stand in the order of time, and where all of them
  /// are asked for those of masked steps are 0.
  bool is_of_two = false;
};

/// What the first state of a cell is called, and the second: "state_h", "forward_c".
constexpr std::array<const char*, 2> kStateNames{"h", "c"};

/// What leaves them out.
constexpr const char* kNoStates = "return_state: false";

/// What a cell gives that goes over a sequence.
struct Passed {
  ValueId output = kNoValue;
  States states;  ///< behind the last step, [batch, units] each; none without `return_state`
};

/// Takes the cell over a sequence. inputs: this, [batch, steps, features], and where there are more
/// the states before the first step, [batch, units] each.
Passed pass_over(Scope& scope, config::Reader& args, const CellDef& cell,
                 std::span<const ValueId> inputs, const Direction& direction = {});

/// The output of the layer of a cell, and its states as further ones.
ValueId build_recurrent(Scope& scope, config::Reader& args, const CellDef& cell,
                        std::span<const ValueId> inputs);

/// The layer of a cell.
template <const CellDef& cell>
LayerDef recurrent_layer(std::string_view name) {
  return {.names = {name},
          .build =
              [](Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
                return build_recurrent(scope, args, cell, inputs);
              },
          .max_inputs = kAnyNumber,
          .call_inputs = {"sequences", "initial_state"},
          .ends_with_list = true,
          .parts = {{std::string(cell.name), "cell"}},
          .cell = &cell};
}

}  // namespace meshwork::layers
