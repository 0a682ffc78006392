#include "graph/builder.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "base/join.h"

namespace meshwork {

GraphBuilder::GraphBuilder(Graph& graph) : graph_(graph) {}

ValueId GraphBuilder::add(const OpDef& op, std::vector<ValueId> inputs, Attrs attrs) {
  const bool shareable =
      inputs.empty() || phase_ != Phase::kForward || op.field != FieldStep::kNone || is_shared_;
  std::string key;
  if (shareable) {
    key = fmt::format("{}:{}({}){}", static_cast<int>(phase_), op.name, join(inputs, ","),
                      to_string(attrs));
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
  }
  std::vector<TensorType> types;
  for (const ValueId input : inputs) {
    MW_CHECK(input >= 0 && input < static_cast<ValueId>(graph_.nodes.size()), "{}: input {}",
             op.name, input);
    types.push_back(type(input));
  }
  TensorType result;
  try {
    result = op.infer({.inputs = types, .attrs = attrs, .output = {}});
  } catch (const Error& error) {
    if (path_.empty()) throw;
    throw Error(error.code(), fmt::format("{}: {}", path_, error.what()));
  }
  const auto id = static_cast<ValueId>(graph_.nodes.size());
  graph_.nodes.push_back({.op = &op,
                          .inputs = std::move(inputs),
                          .attrs = std::move(attrs),
                          .type = std::move(result),
                          .path = path_,
                          .phase = phase_});
  if (shareable) known_.emplace(std::move(key), id);
  return id;
}

PathScope::PathScope(GraphBuilder& builder, std::string_view name)
    : builder_(builder), saved_(builder.path()) {
  builder.set_path(saved_.empty() ? std::string(name) : fmt::format("{}/{}", saved_, name));
}

PathScope::~PathScope() { builder_.set_path(saved_); }

SharedScope::SharedScope(GraphBuilder& builder) : builder_(builder), saved_(builder.is_shared_) {
  builder.is_shared_ = true;
}

SharedScope::~SharedScope() { builder_.is_shared_ = saved_; }

}  // namespace meshwork
