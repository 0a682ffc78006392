#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compile.h"
#include "sharding/layout_map.h"
#include "sharding/propagate.h"
#include "sharding/reshard.h"
#include "spmd/partition.h"

namespace meshwork {

/// A reshard of a program: who wants a value in another layout than it is kept in.
struct Transfer {
  ValueId value = kNoValue;  ///< what is moved, in the agreed program: the node that computes it
  std::string name;          ///< its name, "d1/kernel" or "d1/kernel/gradient"; "" if it has none
  std::string op;            ///< that computes it, "einsum"
  std::string maker;         ///< path of the layer that computes it
  std::string layer;         ///< path of the layer that asks; "" for the input of the model
  std::vector<std::string> readers;  ///< paths of all that read the result
  Phase phase = Phase::kForward;
  Layout from;
  Layout to;
  std::vector<ReshardStep> steps;
  std::vector<double> step_bytes;  ///< that a device sends, on average
  double bytes = 0;                ///< their sum
};

/// All reshards of a program, in order.
std::vector<Transfer> transfers_of(const Partitioned& agreed, const Mesh& mesh);

/// What a device sends for reshards, on average.
struct Sent {
  double bytes = 0;
  std::int64_t collectives = 0;
};
Sent sent_for(const std::vector<Transfer>& transfers);

/// Where the use of a mesh axis by a dimension begins.
struct AxisOrigin {
  enum class Kind {
    kBatch,      ///< an input of the program, which the batch axis splits: `root` names the field
    kVariable,   ///< a variable: `root` is its path
    kOutput,     ///< a layer output that a rule lays out: `root` is its name
    kScattered,  ///< a sum over the axis whose result was scattered: `root` is the layer
    kChosen,     ///< no operand brought it: `root` is the layer that computes it so
  };
  int axis = -1;
  std::size_t dim = 0;
  std::string through;  ///< the first named value on the way back, "d1/output"; "" if none
  std::size_t through_dim = 0;
  std::size_t through_rank = 0;
  Kind kind = Kind::kChosen;
  std::string root;
  std::size_t root_dim = 0;
  std::size_t root_rank = 0;
  std::optional<config::LayoutRule> rule;  ///< of the root
};

/// How `axis` came to shard dimension `dim` of a value of `trace.laid_out`: follows the dimension
/// through the rules of the ops to the operand that brought it.
AxisOrigin origin_of(const CompileTrace& trace, ValueId value, int axis, std::size_t dim);

/// Why a transfer belongs to the explanation of a value.
enum class TransferCause {
  kItself,    ///< the value is wanted in another layout
  kGradient,  ///< the gradient of the variable is combined
  kNewValue,  ///< the updated variable is brought back into its layout
  kSum,       ///< an op adds up over a dimension of the value that is split
  kInside,    ///< something without a name in the same layer
};

struct CausedMove {
  std::size_t transfer = 0;  ///< index into Explanation::transfers
  TransferCause cause = TransferCause::kItself;
};

enum class ValueKind { kWeight, kState, kSlot, kGradient, kOutput };

/// Everything about one named value.
struct ValueExplanation {
  std::string path;
  ValueKind kind = ValueKind::kOutput;
  TensorType type;
  Layout layout;
  std::optional<config::LayoutRule> rule;  ///< that lays it out
  bool optimizer_rule = false;             ///< the rule is one of optimizer_layout
  std::string like;    ///< laid out as this variable: a slot as its weight, a gradient as its slot
  bool local = false;  ///< depends on no data: computed by everyone as it is wanted
  std::vector<AxisOrigin> origins;  ///< of the axes that shard it, where nothing pins it
  std::vector<CausedMove> transfers;
};

struct Explanation {
  std::vector<Transfer> transfers;  ///< of the whole program
  std::vector<ValueExplanation> values;
  bool training = false;            ///< of a training step, not a prediction
  bool by_nccl = false;             ///< devices exchange by NCCL
  std::vector<std::size_t> inside;  ///< of a layer: its transfers that belong to none of the values
};

/// What `path` names: a variable `d1/kernel`, its gradient `d1/kernel/gradient`, a layer's output
/// `d1/output`, the input `input/output`, or a layer or block `d1`: all that begins with `d1/`, and
/// the optimizer's state of its weights. An Error with the nearest paths if there is no such.
Explanation explain(const CompileTrace& trace, const config::Config& config, const Mesh& mesh,
                    const std::string& path);

}  // namespace meshwork
