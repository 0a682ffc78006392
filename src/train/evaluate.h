#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <string>

#include "train/fit.h"
#include "train/runner.h"

namespace meshwork {

/// Loss and metrics over a split, again and again: `fit` validates with it.
class Evaluator {
 public:
  Evaluator(const Session& session, const data::Split& split);
  /// One pass over the split. After each step but the last it asks whether to go on, on all devices
  /// alike; nothing where not.
  std::optional<Logs> run(const std::function<bool()>& goes_on);
  /// The same with a progress bar for the first device.
  Logs run(std::ostream& out, int verbose);

 private:
  const Session& session_;
  Runner runner_;
  data::Loader loader_;
};

/// What fit validates on: validation_steps batches from the first one on, every time; all of them
/// where there are no more. The job must have validation data.
data::Split validation_part(const Job& job);

/// "DIR" -> "DIR/final.safetensors", or its newest checkpoint while there are no final weights, or
/// what Hugging Face calls the weights there; a file, or a checkpoint, stays as it is. Throws Error
/// if there is none.
std::string weights_file(const std::string& from);

/// Trained weights, as --from names them.
struct GivenWeights {
  std::string path;        ///< a file, or a checkpoint
  bool any_model = false;  ///< they may be of another model, or other tokens
  /// The directory in which weights_file() has found them, whose run may still write and remove
  /// checkpoints; "": `path` is what was named.
  std::string directory = {};
};

/// What weights_file() finds. Throws its Error.
GivenWeights find_weights(const std::string& from, bool any_model);

/// What of them decides on the calls that devices make: for check_same_job().
std::string describe_options(const GivenWeights& weights);

/// Reads them, all devices those that the first one has found; where these are gone by then, the
/// next that are in the directory. Gives their path; throws the Errors of Session::load_weights,
/// check_same_model and check_same_meaning.
std::string load(Session& session, const GivenWeights& weights);

void prepare_evaluate(Job& job, const data::Split& split);

/// Loss and metrics over the split that was prepared, and digest, of these weights; all
/// devices of the job call it.
FitResult evaluate(const Job& job, const World& world, const GivenWeights& weights, int verbose,
                   std::ostream& out);

}  // namespace meshwork
