#pragma once

#include <optional>
#include <string>

#include "backend/tuned_products.h"
#include "job/job.h"

namespace meshwork {

/// By what a device of a job that is on this machine computes products, as tuned_products(gpu)
/// says; nothing where it is no GPU.
std::optional<TunedProducts> tuned_products(const Job& job, int device);

/// In words for a GPU: "tuned, 12 in FILE"; what is wrong where that cannot be told.
std::string show_products(int gpu);

/// Measures the products of all programs of a job for all its devices, on the first GPU of this
/// machine: tune_products(gpu, ..). Its step is one of training on a whole batch, on device 0.
Tuning tune_products(const Job& job, const TuningWatch& watch);

}  // namespace meshwork
