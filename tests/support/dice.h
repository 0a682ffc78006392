#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"

namespace meshwork::testing {

/// Choices drawn from a seed.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  int below(int count) {
    const auto bits = philox(seed_, 0, next_++);
    return static_cast<int>(bits[0] % static_cast<std::uint32_t>(count));
  }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }

 private:
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
};

/// A mesh as --mesh takes it, and the names of its axes.
struct MeshShape {
  std::vector<std::string> names;
  std::string text;
};

/// One of up to eight devices, along two or three axes.
MeshShape random_mesh(Dice& dice);

/// An entry for each dimension: axes are dealt out at random, none twice.
std::string random_layout(Dice& dice, const MeshShape& mesh, int rank);

/// `strategy:` and `layout_map:` of these rules.
std::string layout_map(const std::string& rules);

/// `batch_axis:` of one axis or two, and `keep_gathered:`, each now and then.
std::string random_batch_axis(Dice& dice, const MeshShape& mesh);

}  // namespace meshwork::testing
