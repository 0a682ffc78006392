#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/value.h"
#include "data/formats/source.h"

namespace meshwork::data {

/// How a field becomes what training sees.
struct FieldSpec {
  std::string name;            ///< "x"
  std::optional<DType> dtype;  ///< as written; default_dtype() where it is not
  double scale = 1.0;          ///< value = raw * scale + offset
  double offset = 0.0;
  std::int64_t one_hot = 0;  ///< number of classes; 0: no one-hot vectors
  config::Location at;
};

struct SplitSpec {
  std::string name;             ///< "train", "validation" or "test"
  std::vector<Opener> openers;  ///< one per field
  std::optional<std::int64_t> take;
  config::Location at;
};

/// A dataset description, checked without touching a file of data:
///
///     name: fashion_mnist              # its folder in $MESHWORK_DATA
///     format: idx                      # csv, idx, npy, npz, synthetic
///     directories: [/usr/share/datasets/fashion-mnist]
///     splits:                          # train, validation, test: a file (or more) per field
///       train: {x: train-images-idx3-ubyte.gz, y: train-labels-idx1-ubyte.gz}
///       test: {x: t10k-images-idx3-ubyte.gz, y: t10k-labels-idx1-ubyte.gz}
///     x: {scale: 0.00392156862745098, offset: 0, dtype: float32}
///     y: {dtype: int32}                # or one_hot: 10
///     take: 1003                       # at most the first 1003 samples; or {train: 1003}
///     hint: apt install dataset-fashion-mnist
///
/// A split may also be one file that holds all fields (`train: iris.csv`): these are x and y.
struct DatasetSpec {
  std::string name;
  std::string format;
  std::vector<std::string> directories;  ///< as written
  std::string hint;
  std::vector<FieldSpec> fields;
  std::vector<SplitSpec> splits;
  config::Location at;
};

/// Throws a configuration Error with place for whatever is unknown or wrong.
DatasetSpec read_description(const config::Value& description);

}  // namespace meshwork::data
