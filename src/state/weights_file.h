#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "state/formats/format.h"
#include "state/keras_names.h"
#include "state/stored_tensors.h"

namespace meshwork {

/// Says how Keras would have a model; asked only for files in Keras's own structure.
using DescribeForKeras = std::function<std::vector<KerasModel>()>;

/// A file of weights of any format, open for reading by the paths of the model. Each device opens
/// it for itself.
class WeightsFile {
 public:
  /// `weights`: those of the model. Of a file of paths that all begin with the name of a model, as
  /// Keras's Sequential has them, that name is left out. Throws an Error of ExitCode::kFile that
  /// lists the tensors that are missing or of another type, and those that the model has not, but
  /// for those that `may_keep` is about.
  WeightsFile(const std::string& file, const std::vector<GlobalTensor>& weights,
              const DescribeForKeras& describe, MayKeep may_keep = {});

  /// The same of a file that knows variables by their paths.
  WeightsFile(std::unique_ptr<TensorFile> file, const std::vector<GlobalTensor>& weights,
              MayKeep may_keep = {});

  const TensorFile& file() const { return *file_; }
  /// What is uncertain about which tensor is which; "": nothing.
  const std::string& note() const { return note_; }

  /// Finds the state of the optimizer, too: `slots`, those that it has. False where the file has
  /// none; an Error where it has another optimizer's.
  bool find_slots(const std::vector<GlobalTensor>& slots);
  /// Steps of that optimizer.
  std::int64_t iteration() const;

  /// False for a variable that it was opened without, or that keeps its value.
  bool has(const GlobalTensor& tensor) const { return places_.contains(tensor.path); }
  /// Reads one part of a tensor into `to`, dense and row-major.
  void read(const GlobalTensor& tensor, const Region& region, const Shape& local,
            std::byte* to) const;

 private:
  std::optional<std::int64_t> count_in(const StoredTensor& stored) const;
  void find_by_path(const std::vector<GlobalTensor>& weights);
  void find_by_layer(const std::vector<GlobalTensor>& weights);
  /// Leaves variables that keep their values without a place. `prefix`: what paths in the file
  /// begin with.
  void check(std::vector<GlobalTensor> expected, const std::string& prefix);

  std::unique_ptr<TensorFile> file_;
  MayKeep may_keep_;
  std::vector<KerasModel> models_;  ///< empty: the file knows variables by their paths
  Places places_;                   ///< in the file
  std::string note_;
};

/// Whether a file has one of these weights under its path, or behind the name of a model.
bool knows_by_path(const TensorFile& file, const std::vector<GlobalTensor>& weights);

}  // namespace meshwork
