#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace meshwork {

/// Appends nodes to a graph. Every node takes the builder's current path and phase.
class GraphBuilder {
 public:
  explicit GraphBuilder(Graph& graph);

  /// Infers the type and appends. In the backward and update phases, for ops without inputs and
  /// within a SharedScope, an equal node of the same phase is returned instead of a second one.
  ValueId add(const OpDef& op, std::vector<ValueId> inputs, Attrs attrs = {});

  const Graph& graph() const { return graph_; }
  Graph& graph() { return graph_; }
  const Node& node(ValueId id) const { return graph_.node(id); }
  const TensorType& type(ValueId id) const { return graph_.type(id); }
  const Shape& shape(ValueId id) const { return graph_.type(id).shape; }

  const std::string& path() const { return path_; }
  Phase phase() const { return phase_; }
  void set_path(std::string path) { path_ = std::move(path); }
  void set_phase(Phase phase) { phase_ = phase; }

 private:
  friend class SharedScope;

  Graph& graph_;
  std::string path_;
  Phase phase_ = Phase::kForward;
  bool is_shared_ = false;
  std::map<std::string, ValueId> known_;
};

/// Extends the path of a builder for a scope: "" + "d1" -> "d1" -> "d1/query".
class PathScope {
 public:
  PathScope(GraphBuilder& builder, std::string_view name);
  ~PathScope();
  PathScope(const PathScope&) = delete;
  PathScope& operator=(const PathScope&) = delete;

 private:
  GraphBuilder& builder_;
  std::string saved_;
};

/// What layers compute in this scope is one node wherever it is equal: tables, say, that each of
/// many layers makes of its arguments.
class SharedScope {
 public:
  explicit SharedScope(GraphBuilder& builder);
  ~SharedScope();
  SharedScope(const SharedScope&) = delete;
  SharedScope& operator=(const SharedScope&) = delete;

 private:
  GraphBuilder& builder_;
  bool saved_;
};

}  // namespace meshwork
