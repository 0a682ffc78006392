#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/conversion.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "base/token_mask.h"
#include "data/augment/mix.h"
#include "data/description.h"

namespace meshwork::data {

/// One field of every sample, as training sees it: stored numbers converted, then normalized; of
/// labels, if `classes` says so, vectors of 0 and a 1 at the label's place.
struct Field {
  std::string name;                      ///< "x"
  DType dtype = DType::kFloat32;         ///< kFloat32 or kInt32
  Shape shape;                           ///< of one sample: [28, 28], [] for a label
  std::shared_ptr<const Source> source;  ///< shared by all devices of the process
  Conversion conversion;
  Normalization normalization = {};
  std::vector<ImageOp> augment = {};  ///< for training batches
  /// The field that it is a mask of, whose draws move it, too; empty: none.
  std::string mask_of = {};
  std::int64_t fill_value = 0;  ///< of a mask, beyond the edge of an image
  /// For training batches: mixes their samples, and the labels of these.
  std::shared_ptr<const Mixer> mixer = nullptr;
  std::optional<TokenMask> mask = {};  ///< of tokens, for training and evaluation
  std::int64_t classes = 0;            ///< of labels; 0: they stay numbers
  /// Of labels that stay numbers: how many classes there are, 0 for any number, and a number that
  /// stands for no class.
  std::int64_t label_limit = 0;
  std::optional<std::int64_t> ignored_label = {};

  /// Of numbers of rows of a table: how many it has, 0 for any number, and what it is called.
  std::int64_t table_rows = 0;
  std::string table = {};

  bool is_mask() const { return !mask_of.empty(); }
  Shape stored_shape() const;  ///< of a sample
};

/// How a program gets a field.
enum class Arrival {
  kRows,       ///< int32 row numbers of the source's samples, all of which lie in memory
  kStored,     ///< a batch of samples as they are stored
  kAugmented,  ///< a batch of samples as the model reads them, labels perhaps as vectors
};
Arrival arrival_of(const Field& field, bool augment);

/// A range of samples. Copies are cheap and share what was read.
struct Split {
  std::string name;
  std::int64_t first = 0;  ///< sample of the sources that is sample 0 of the split
  std::int64_t samples = 0;
  std::vector<Field> fields;  ///< in the order of the description

  const Field* find(std::string_view field) const;
};

/// A described dataset. Making one checks the description only; a split's files are opened, and of
/// these the headers read, when the split is first asked for; samples when they are first read.
class Dataset {
 public:
  /// `seed` is the run's: for drawn data.
  Dataset(const config::Value& description, std::uint64_t seed);

  const std::string& name() const { return spec_.name; }
  std::vector<std::string> split_names() const;
  bool has(std::string_view split) const;
  std::vector<std::string> field_names() const;

  /// Leaves out all fields but these, and does not look for what they are of. Before any split is
  /// asked for.
  void keep_fields(const std::vector<std::string>& names);

  /// Any number of threads may ask. Throws a configuration Error if there is no such split, and
  /// Error with ExitCode::kFile for missing or broken files and for fields that do not fit
  /// together.
  const Split& split(std::string_view name) const;

  /// The rows of a split, before windows of a time series are cut from them; else the split.
  Split rows(std::string_view name) const;

  /// "validation", else "test", else none.
  std::optional<std::string> validation_name() const;

  /// A line per split, as of describe(split). Opens all splits.
  std::string describe() const;

 private:
  const SplitSpec& spec_of(std::string_view name) const;
  Split open(const SplitSpec& spec) const;
  Split open_rows(const SplitSpec& spec) const;
  Split open_fields(const SplitSpec& spec) const;
  Split part_of_files(const SplitSpec& spec) const;

  DatasetSpec spec_;
  std::uint64_t seed_;
  mutable std::mutex mutex_;
  mutable std::optional<Split> files_;  ///< of which splits are parts, once one is open
  mutable std::map<std::string, Split, std::less<>> open_;
};

/// "train: 60000 samples, x float32 [28, 28], y int32 []"; of tokens "train: 1003790 windows of 64
/// characters, 65 different, x int32 [64], y int32 [64]"; of texts alone "train: 6 texts of 5
/// tokens, 480 different, x int32 [5]".
std::string describe(const Split& split);

/// Keras's validation_split: the first floor(n * (1 - fraction)) samples, and the rest. Throws a
/// configuration Error unless both have samples.
std::pair<Split, Split> split_validation(const Split& split, double fraction);

/// The split with these fields only, in this order; every one must exist.
Split select_fields(const Split& split, const std::vector<std::string>& fields);

}  // namespace meshwork::data
