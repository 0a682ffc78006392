#pragma once

#include <string>

#include "model/losses/loss.h"
#include "model/model.h"

namespace meshwork {

/// The weights of the samples of a batch, as a float32 value whose first dimension is the batch:
/// what the field `sample_weight` of the data gives (in training and evaluation), or the weights
/// of their classes (fit.class_weight, in training). kNoValue where there are neither; both are an
/// Error.
ValueId add_sample_weights(GraphBuilder& b, const config::Config& config,
                           const Signature& signature, Mode mode, ValueId labels,
                           ValueId predictions);

/// Values of a loss times the weights of their samples. A weight per sample counts for each of its
/// values; a last dimension of one that only one of the two has does not matter, as in Keras.
struct WeightedValues {
  ValueId values = kNoValue;
  ValueId weights = kNoValue;  ///< 0 where a value does not count; broadcasts to the values
};
WeightedValues weigh(GraphBuilder& b, const Compared& compared, ValueId weights,
                     const config::Location& at, const std::string& what);

/// The weights of values of that shape: 1 where `weights` is kNoValue.
ValueId weights_for(GraphBuilder& b, Shape shape, ValueId weights, const config::Location& at,
                    const std::string& what);

/// What is left to count of values whose predictions have a mask (kNoValue: all).
Compared with_mask(GraphBuilder& b, Compared compared, ValueId mask, const config::Location& at,
                   const std::string& what);

/// The weights of samples, if they have any, times the mask of their predictions, if they have one.
ValueId masked_weights(GraphBuilder& b, ValueId weights, ValueId mask, const config::Location& at,
                       const std::string& what);

/// Sums over the samples of a batch for a weighted mean: of weight times value, each the mean over
/// a sample, and of the weights.
struct WeightedMean {
  ValueId total = kNoValue;
  ValueId count = kNoValue;
};
WeightedMean weighted_samples(GraphBuilder& b, const Compared& compared, ValueId weights,
                              const config::Location& at, const std::string& what);

/// The same over the values of all samples, each by itself; `weights`: kNoValue if they have none.
WeightedMean weighted_values(GraphBuilder& b, const Compared& compared, ValueId weights,
                             const config::Location& at, const std::string& what);

}  // namespace meshwork
