#pragma once

#include "model/layers/layer.h"

namespace meshwork::layers {

/// The stream of random numbers of a layer: its argument `seed`, which takes the place of the
/// run's, and its path. Every step draws other numbers.
std::int64_t read_stream(Scope& scope, config::Reader& args);

/// Uniform in [0, 1), of this step.
ValueId draw_uniform(Scope& scope, std::int64_t stream, const Shape& shape);
ValueId draw_normal(Scope& scope, std::int64_t stream, const Shape& shape, double mean,
                    double stddev);

/// `noise_shape`, in which null stands for the extent of the input; that of the input if absent.
Shape read_noise_shape(config::Reader& args, const Shape& input);

/// What drop() multiplies by: of each element of `mask` 1 / (1 - rate) with probability 1 - rate,
/// else 0. kNoValue where nothing is dropped. `rate` < 1.
ValueId draw_factors(Scope& scope, double rate, std::int64_t stream, const Shape& mask,
                     DType dtype);

/// x / (1 - rate) with probability 1 - rate, else 0, in training; a draw for each element of
/// `mask`, which broadcasts to x. x itself otherwise.
ValueId drop(Scope& scope, ValueId x, double rate, std::int64_t stream, const Shape& mask);

}  // namespace meshwork::layers
