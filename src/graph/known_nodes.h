#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "graph/dim_rule.h"
#include "graph/graph.h"

namespace meshwork {

/// A type that stands somewhere else.
struct TypeView {
  DType dtype;
  const Shape* shape;
};

/// What ops say of nodes. Of nodes that are alike an op is asked once: those of one program are
/// mostly those of another, and many are like others of the same.
class KnownNodes {
 public:
  struct Known {
    std::vector<TensorType> inputs;
    TensorType output;
    const OpDef* op;
    Attrs attrs;
    std::optional<CollectiveArgs> collective;
    std::optional<TensorType> inferred;  ///< nullopt: the op does not take these operands
    std::optional<DimRule> rule;         ///< if somebody asked for it
  };

  /// A node with operands and a result of these types. Stays where it is.
  Known& find(const Node& node, std::span<const TypeView> inputs, TypeView output);
  /// A node of the graph, with the types that it has there.
  Known& find(const Graph& graph, const Node& node);

  /// nullptr: the op has none, or infers another type.
  static const DimRule* rule(Known& known);

  /// What rule_of() gives for a node of the graph. Stays where it is.
  const DimRule& rule(const Graph& graph, const Node& node);

 private:
  std::vector<TypeView> inputs_;  ///< of the node at hand
  std::unordered_map<std::uint64_t, std::vector<std::unique_ptr<Known>>> known_;  ///< by hash
};

}  // namespace meshwork
