#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "train/evaluate.h"

namespace meshwork {

/// Adds the programs that predict over the inputs of a split.
void prepare_predict(Job& job, const data::Split& split);

/// One file of predictions.
struct PredictionFile {
  std::string output;  ///< of the program: "prediction", or "digit/prediction"
  std::string file;
  Shape shape;  ///< samples of the split first
};

/// The files for every output of the model: `file` itself, or if there are several outputs, one for
/// each: "predictions.npy" becomes "predictions_digit.npy".
std::vector<PredictionFile> prediction_files(const Job& job, const data::Split& split,
                                             const std::string& file);

/// Writes the outputs of the model for every sample of the split that prepare_predict() was given,
/// in order, to .npy files of float32; each device writes the rows it computed. All devices of the
/// job call it.
void predict(const Job& job, const World& world, const GivenWeights& weights,
             const std::vector<PredictionFile>& files, int verbose, std::ostream& out);

}  // namespace meshwork
