#pragma once

#include <cstdint>
#include <string>

#include "graph/builder.h"
#include "model/initializers/initializer.h"

namespace meshwork {

/// What a layer needs to build itself: the builder, which carries the layer's path, and the facts
/// of the run.
class Scope {
 public:
  Scope(GraphBuilder& builder, std::uint64_t seed, bool training)
      : builder_(builder), seed_(seed), training_(training) {}

  GraphBuilder& builder() { return builder_; }
  std::uint64_t seed() const { return seed_; }
  bool training() const { return training_; }

  /// Whether the variables made from here on are trained (a layer's `trainable`).
  void set_trainable(bool trainable) { trainable_ = trainable; }

  /// A new float32 variable `<path>/<name>`. Its initial value is an op of its own and no part of
  /// the program. Throws Error if the initializer is not for such a shape.
  ValueId variable(const std::string& name, const Shape& shape, const Initializer& initializer);

  /// The number of the step, from 0: the input "iteration", int64.
  ValueId iteration();

 private:
  GraphBuilder& builder_;
  std::uint64_t seed_;
  bool training_;
  bool trainable_ = true;
};

}  // namespace meshwork
