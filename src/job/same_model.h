#pragma once

#include <string>

#include "job/job.h"
#include "state/safetensors_header.h"

namespace meshwork {

/// What a file of weights says of the model that they are of: metadata of the file.
Metadata model_metadata(const config::Config& config);

/// Throws an Error of ExitCode::kFile where weights, of a file or a checkpoint, are of a model that
/// computes something else than the one of the configuration, and names the first layer that
/// differs. Weights that do not say, or were written by another version of Meshwork, pass.
void check_same_model(const config::Config& config, const std::string& weights);

}  // namespace meshwork
