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

  /// Whether the layer is trained: false where it, a block around it or a rule of `freeze` says
  /// so. Such a layer behaves as in inference where Keras's does (BatchNormalization).
  bool trainable() const { return trainable_; }
  void set_trainable(bool trainable) { trainable_ = trainable; }

  /// A new float32 variable `<path>/<name>`, trained if the layer is. Its initial value is an op
  /// of its own and no part of the program. Throws Error if the initializer is not for such a
  /// shape. A layer that is built once more under its path (a shared one) gets its variable again.
  ValueId variable(const std::string& name, const Shape& shape, const Initializer& initializer);

  /// The same for state that the optimizer leaves alone, such as moving_mean. Where a shared layer
  /// has updated it before in this step, this is the updated value, as in Keras.
  ValueId non_trainable(const std::string& name, const Shape& shape,
                        const Initializer& initializer);

  /// While training: at the end of the step `state`, which non_trainable() gave, takes `value`.
  /// In evaluation and prediction nothing happens. Types must be the same.
  void update(ValueId state, ValueId value);

  /// The number of the step, from 0: the input "iteration", int64.
  ValueId iteration();

 private:
  ValueId make(const std::string& name, const Shape& shape, const Initializer& initializer,
               bool trainable);

  GraphBuilder& builder_;
  std::uint64_t seed_;
  bool training_;
  bool trainable_ = true;
};

}  // namespace meshwork
