#pragma once

#include <ostream>
#include <string>

#include "train/evaluate.h"

namespace meshwork {

/// Adds the programs that predict over the inputs of a split.
void prepare_predict(Job& job, const data::Split& split);

/// Shape of all predictions of a split: samples first.
Shape prediction_shape(const Job& job, const data::Split& split);

/// Writes the outputs of the model for every sample of a split, in order, to a .npy file of
/// float32; each device writes the rows it computed. All devices of the job call it.
void predict(const Job& job, const DeviceContext& context, const data::Split& split,
             const std::string& weights, const std::string& file, int verbose, std::ostream& out);

}  // namespace meshwork
