#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"
#include "graph/attrs.h"
#include "graph/collective.h"
#include "graph/value_map.h"

namespace meshwork {

struct OpDef;

struct TensorType {
  DType dtype = DType::kFloat32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};

/// "float32[128, 200]".
std::string to_string(const TensorType& type);

/// Bytes of a dense tensor of this type.
std::int64_t num_bytes(const TensorType& type);

enum class Phase {
  kForward,
  kBackward,
  kUpdate,
  kRecompute,  ///< the forward pass once more, of a part, while the backward pass runs
};

/// One operation. Its inputs stand before it in the graph.
struct Node {
  const OpDef* op = nullptr;
  std::vector<ValueId> inputs;
  Attrs attrs;
  TensorType type;   ///< of the value it gives
  std::string path;  ///< the layer it belongs to: "d1", "block_3/attention"
  Phase phase = Phase::kForward;
  /// The forward value whose gradient this one is, or part of it, in a program for all devices:
  /// where nothing else says how to shard a dimension, it is sharded as there.
  ValueId gradient_of = kNoValue;
  std::optional<CollectiveArgs> collective = {};  ///< of nodes whose op is one
};

enum class Statistic { kMean, kVariance };

/// What numbers of the training data decide.
struct DataStatistic {
  Statistic statistic = Statistic::kMean;
  std::string of;                  ///< whose: "x/output", an input of the model or a layer output
  std::vector<std::int64_t> kept;  ///< dimensions of it with numbers of their own, in order
};

/// A tensor that lives from step to step. The value is a node of op `variable`.
struct Variable {
  ValueId value = kNoValue;
  std::string path;
  bool trainable = true;
  /// Path of the weight whose optimizer state this is, the optimizer's name for a scalar that it
  /// keeps of none, "" for a weight.
  std::string slot_of;
  const OpDef* init = nullptr;  ///< an op without inputs that gives the initial value
  Attrs init_attrs;
  /// [begin, end): of a vector, the elements that begin at 1 instead; empty: none.
  Shape ones = {};
  /// Its update writes rows into it. It is not saved, and what it holds before the first step is
  /// never read.
  bool is_cache = false;
  /// What training begins with instead, unless it begins with weights of a file.
  std::optional<DataStatistic> begins_as = {};
};

/// At the end of a step `variable` takes `value`.
struct Update {
  ValueId variable = kNoValue;
  ValueId value = kNoValue;
};

/// A value under a name: an output of the program, or the output of a layer.
struct NamedValue {
  std::string name;
  ValueId value = kNoValue;
  bool whole = false;       ///< of an output: every device has all of it
  bool activation = false;  ///< of a layer that is, or ends with, an activation function
  bool of_masked = false;   ///< of a layer whose first input has a mask
};

/// `after` may run only when `before` has, though it does not read it.
struct ControlEdge {
  ValueId before = kNoValue;
  ValueId after = kNoValue;
};

/// A program in order of execution: global before partitioning, local (one device) after it.
struct Graph {
  ValueMap<Node> nodes;
  std::vector<Variable> variables;
  std::vector<Update> updates;
  std::vector<Update> gradients;  ///< of trainable variables, where the program computes them
  std::vector<NamedValue> outputs;
  std::vector<NamedValue> layer_outputs;  ///< "d1/output": what a layout map may lay out
  ValueMap<Region> regions;               ///< of each value, in a local program; else empty
  std::vector<ControlEdge> controls;

  ValueId end() const { return static_cast<ValueId>(nodes.size()); }
  ValueRange ids() const { return {0, end()}; }
  Node& node(ValueId id) { return nodes[id]; }
  const Node& node(ValueId id) const { return nodes[id]; }
  const TensorType& type(ValueId id) const { return nodes[id].type; }
  /// Of all elements of the value, wherever they are.
  const Shape& global_shape(ValueId id) const {
    return regions.empty() ? type(id).shape : regions[id].global;
  }
  /// The value with all its elements, wherever they are.
  TensorType global_type(ValueId id) const { return {type(id).dtype, global_shape(id)}; }
  /// Appends to a local program.
  ValueId append(Node node, Region region) {
    regions.push_back(std::move(region));
    return nodes.append(std::move(node));
  }
};

/// Types of the inputs of a node, in order.
std::vector<TensorType> input_types(const Graph& graph, const Node& node);
/// As the global program has them.
std::vector<TensorType> global_input_types(const Graph& graph, const Node& node);

/// The input `name`; kNoValue if there is none.
ValueId input_value(const Graph& graph, std::string_view name);

/// The value of the output `name`; a broken invariant if there is none.
ValueId output_value(const Graph& graph, std::string_view name);

/// Throws CheckFailure unless inputs precede their uses, collectives say who takes part, names and
/// edges name values of matching types, and types are what the ops infer: in a local program of
/// what the device holds, or of the global values if it holds the same part of all of them.
void verify(const Graph& graph);

/// Where the values of one graph stand in another; kNoValue: nowhere.
using Renaming = ValueMap<ValueId>;

/// A node with its operands, and the value whose gradient it is, as they are called in the other.
Node remap(Node node, const Renaming& renamed);

/// All that a graph says of its values beside nodes and regions (variables, updates, gradients,
/// names, control edges), for a program in which they are called otherwise. Gradients, outputs of
/// layers and edges of values that stand nowhere are left out; variables, updates and outputs may
/// not be left out.
void remap_names(const Graph& from, const Renaming& renamed, Graph& to);

/// The same graph without the nodes that no output and no update needs. Variables and inputs stay.
Graph prune(Graph graph);

/// The same graph with the nodes `order` alone, in that order; inputs stand before their uses.
/// Names of values that are left out go with them, variables and outputs may not.
Graph in_order(Graph graph, std::span<const ValueId> order);

}  // namespace meshwork
