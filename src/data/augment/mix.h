#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/shape.h"
#include "config/value.h"
#include "data/augment/augment.h"

namespace meshwork::data {

/// Numbers that are drawn one after the other, as many as are asked for.
class DrawStream {
 public:
  /// `place`: of the sample, or of the first of its batch, in pass `pass`.
  DrawStream(std::uint64_t key, std::int64_t pass, std::int64_t place)
      : key_(key), pass_(pass), place_(place) {}

  double uniform();  ///< in (0, 1)
  double normal();
  /// Beta(alpha, alpha), alpha > 0: Joehnk 1964, above 1 by two gammas (Marsaglia and Tsang 2000).
  double beta(double alpha);

 private:
  double gamma(double alpha);

  std::uint64_t key_;
  std::int64_t pass_;
  std::int64_t place_;
  std::uint64_t drawn_ = 0;
};

/// Pixels y0 <= y < y1, x0 <= x < x1.
struct Box {
  float y0 = 0, y1 = 0, x0 = 0, x1 = 0;
};

/// How a sample is mixed with another one of its batch.
struct Mixture {
  float share = 1;         ///< of the sample's label; the other's has the rest
  std::optional<Box> box;  ///< what comes from the other image; without it all is a weighted sum

  /// Writes the mixture of two samples to `to`, which may be `first`.
  void mix(const ImageShape& shape, const float* first, const float* second, float* to) const;
};

/// Draws a mixture; `of_batch` is the same for all samples of a batch.
using MixFunction =
    std::function<Mixture(const ImageShape& shape, DrawStream of_batch, DrawStream of_sample)>;

/// An operation of a description's `mix`, its arguments read.
struct MixOp {
  std::string name;                   ///< "MixUp"
  std::optional<std::uint64_t> seed;  ///< instead of the run's
  bool needs_image = false;
  MixFunction draw;
};

/// A class of operations, by Keras's name and with Keras's arguments.
struct MixOpDef {
  std::vector<std::string_view> names;  ///< "MixUp"
  bool needs_image = false;             ///< [height, width], perhaps with channels
  /// Reads the arguments; `seed` is read by the caller.
  MixFunction (*parse)(config::Reader& args);
};

extern const MixOpDef kCutMix;
extern const MixOpDef kMixUp;

/// All classes, sorted by name.
const std::vector<const MixOpDef*>& mix_ops();

/// Reads `mix: {MixUp: {alpha: 0.2}}`, or a list of operations. Throws a configuration Error with
/// place for what is unknown or wrong.
std::vector<MixOp> read_mix(const config::Value& mix);

/// Where a sample stands.
struct MixPlace {
  std::int64_t pass = 0;
  std::int64_t place = 0;        ///< in the pass
  std::int64_t batch_first = 0;  ///< place of the first sample of its batch
};

/// Mixes samples of batches with one another, each by one of the operations. What is drawn depends
/// on the seed, the pass, and the places of the sample and of its batch in the pass.
class Mixer {
 public:
  /// `shape` is that of a sample, of an image or of anything else.
  Mixer(std::vector<MixOp> ops, const Shape& shape, std::uint64_t seed);

  Mixture draw(const MixPlace& at) const;
  const ImageShape& shape() const { return shape_; }

 private:
  std::vector<MixOp> ops_;
  std::uint64_t choice_ = 0;         ///< key of the stream that takes one of them
  std::vector<std::uint64_t> keys_;  ///< two per operation
  ImageShape shape_;
};

}  // namespace meshwork::data
