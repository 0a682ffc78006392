#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/value.h"
#include "data/augment/mix.h"
#include "data/field_spec.h"
#include "data/formats/source.h"
#include "data/fractions.h"
#include "data/timeseries.h"

namespace meshwork::data {

/// How samples x of training batches are mixed, and their labels y.
struct MixSpec {
  std::vector<MixOp> ops;  ///< of which each sample takes one
  config::Location at;
};

struct SplitSpec {
  std::string name;              ///< "train", "validation" or "test"
  std::vector<Opener> openers;   ///< one per field
  std::optional<Fraction> part;  ///< of the samples of `files`, which the openers then open
  std::optional<std::int64_t> take;
  config::Location at;
};

/// A dataset description, checked without touching a file of data:
///
///     name: fashion_mnist              # its folder in $MESHWORK_DATA
///     format: idx                      # cifar10, cifar100, csv, hdf5, idx, images, npy, npz,
///                                      # synthetic, text, tokens
///     folder: /home/me/data            # where relative paths start; by default that of the file
///     directories: [/usr/share/datasets/fashion-mnist]
///     splits:                          # train, validation, test: a file (or more) per field
///       train: {x: train-images-idx3-ubyte.gz, y: train-labels-idx1-ubyte.gz}
///       test: {x: t10k-images-idx3-ubyte.gz, y: t10k-labels-idx1-ubyte.gz}
///     x: {scale: 0.00392156862745098, offset: 0, dtype: float32}
///     y: {dtype: int32}                # or one_hot: 10
///     cache: true                      # keep what was decoded; by default up to 1 GiB per field
///     take: 1003                       # at most the first 1003 samples; or {train: 1003}
///     hint: apt install dataset-fashion-mnist
///
/// A split may also be one file that holds all fields (`train: iris.csv`): these are x and y. A
/// file may be a list, or a pattern (`part-*.npz`): the samples of all files, one after the other.
/// Splits may be parts of the same files, the first split from the beginning:
///
///     files: iris.csv                  # or {x: flowers.npy, y: kinds.npy}
///     splits: {train: 0.8, test: 0.2}
///
/// Samples may be rows in the order of time, of which training sees some at once: `timeseries`, see
/// TimeSeries.
///
/// Of a field with images [height, width] or [height, width, channels]:
///
///     x:
///       scale: 0.00392156862745098
///       mean: [0.491, 0.482, 0.447]    # per channel (the last dimension), or one for all
///       std: [0.247, 0.243, 0.262]
///       shape: [28, 28, 1]             # of a sample, with as many numbers as the file has
///       augment:                       # training batches only, after all of the above
///         - RandomFlip: {mode: horizontal}
///         - RandomCrop: {padding: 4}
///
/// Of a field with a label for each pixel of another one, which augmentation moves as these:
///
///     y: {mask_of: x, fill_value: 255}  # the label beyond the edge of an image; by default 0
///
/// Training batches whose samples are mixed with one another, where labels are one-hot vectors:
///
///     mix: [MixUp: {alpha: 0.2}, CutMix: {factor: 1}]
///
/// Of windows of tokens (text, tokens); y is then x itself, where a token is to be found, else -1:
///
///     mask_tokens: {vocabulary_size: 65, mask_token_id: 65, mask_selection_rate: 0.15}
///
/// `cache` is a matter of images and of packed .npz files. Files of the other formats are mapped
/// (idx, npy, cifar), or kept unpacked (csv and all gzip files), whatever it says.
struct DatasetSpec {
  std::string name;
  std::string format;
  std::string folder;                    ///< of the description, or as it says
  std::vector<std::string> directories;  ///< as written
  std::string hint;
  std::optional<bool> cache;
  std::optional<TimeSeries> timeseries;
  std::optional<MixSpec> mix;
  std::vector<FieldSpec> fields;
  std::vector<SplitSpec> splits;
  config::Location at;
};

/// Throws a configuration Error with place for whatever is unknown or wrong.
DatasetSpec read_description(const config::Value& description);

}  // namespace meshwork::data
