#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "interchange/from_keras/layer.h"

namespace meshwork::from_keras {

/// An output of a layer; the first has no name.
struct Output {
  std::string name;  ///< "state_h"
  TensorType type;
};

/// Builds single layers, to know what they give and which arguments they have by default.
class Trial {
 public:
  explicit Trial(std::string precision) : precision_(std::move(precision)) {}

  /// What the layer, called `name`, gives of inputs of these types, of which the batch is the first
  /// dimension. An Error says what is wrong with it, not where.
  std::vector<Output> outputs(const Layer& layer, const std::string& name,
                              const std::vector<TensorType>& inputs) const;

  /// The same, and leaves out the arguments without which the layer is the same. What has been
  /// found of one layer is tried first with others of its class.
  std::vector<Output> shorten(Layer& layer, const std::string& name,
                              const std::vector<TensorType>& inputs);

 private:
  std::string precision_;
  /// Of "Dense use_bias: true" what stands in its place; none: it is left out.
  std::map<std::string, std::optional<config::Value>> known_;
};

}  // namespace meshwork::from_keras
