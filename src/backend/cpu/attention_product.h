#pragma once

#include <omp.h>

#include <map>
#include <memory>

#include "backend/cpu/attention_tiles.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/siblings.h"
#include "backend/cpu/widen.h"
#include "base/bfloat16.h"

namespace meshwork::cpu {

/// What a product of a tile of m queries and n keys computes, of f features; p [m, n] is dense.
enum class TileSum {
  kDots,        ///< p = factor x w^T, of x [m, f] and w [n, f]
  kOverKeys,    ///< y [m, f] += x w, of x = p and w [n, f]
  kOverQueries  ///< y [n, f] += x^T w, of x = p and w [m, f]
};

/// Of lines of operands that are not p.
struct TileStrides {
  std::int64_t w;
  std::int64_t x = 0;
};

/// A product of the tiles of attention, of operands of T, added up in float32. No bit depends on
/// the number of threads.
template <class T>
class TileProduct;

template <>
class TileProduct<float> {
 public:
  static constexpr std::int64_t kGrain = 1;

  TileProduct(TileSum sum, const AttentionTiles& tiles, std::int64_t features, TileStrides strides,
              float factor = 1);

  void operator()(const AttentionTiles::Tile& tile, const float* x, const float* w, Lines<float> y,
                  std::byte* scratch) const;

  static std::int64_t scratch_bytes() { return 0; }

 private:
  TileSum sum_;
  std::int64_t features_;
  TileStrides strides_;
  float factor_;
};

/// Primitives of oneDNN, made once for all shapes of tiles: multiplies(DType::kBFloat16) is true.
template <>
class TileProduct<BFloat16> {
 public:
  /// So that tiles have few shapes.
  static constexpr std::int64_t kGrain = 64;

  TileProduct(TileSum sum, const AttentionTiles& tiles, std::int64_t features, TileStrides strides,
              float factor = 1);

  /// `y` is dense. `scratch`: of the thread.
  void operator()(const AttentionTiles::Tile& tile, const BFloat16* x, const BFloat16* w,
                  Lines<float> y, std::byte* scratch) const;

  std::int64_t scratch_bytes() const { return scratch_bytes_; }

 private:
  struct Primitive;

  std::map<AttentionTiles::TileShape, std::shared_ptr<const Primitive>> primitives_;
  std::int64_t scratch_bytes_ = 0;
  float factor_;
};

/// Numbers of float32 as operands of products: rounded into `to`, or as they are.
inline const float* as_operand(const float* from, std::int64_t /*count*/, float* /*to*/) {
  return from;
}
const BFloat16* as_operand(const float* from, std::int64_t count, BFloat16* to);

/// Where lines of a result of T are added up, in float32: in their own place, or in `room`.
inline Lines<float> sum_lines(Lines<float> result, float* /*room*/, std::int64_t /*width*/) {
  return result;
}
inline Lines<float> sum_lines(Lines<BFloat16> /*result*/, float* room, std::int64_t width) {
  return {room, width};
}

/// result = factor x what was added up, of so many lines.
void settle(Lines<float> sum, float factor, Lines<float> result, std::int64_t lines,
            std::int64_t width);
void settle(Lines<float> sum, float factor, Lines<BFloat16> result, std::int64_t lines,
            std::int64_t width);

/// Whether the operands of attention are bfloat16, of which oneDNN computes products here. Else
/// they are widened.
bool multiplies_narrow(const SiblingArgs& args);

/// A Kernel of the dtype that products are computed in: bfloat16, or float32 of what is widened.
template <template <class> class Kernel>
Launch bind_by_dtype(const SiblingArgs& args) {
  if (multiplies_narrow(args)) return Kernel<BFloat16>(args);
  return bind_widened(args, [](const SiblingArgs& wide) -> Launch { return Kernel<float>(wide); });
}
template <template <class> class Kernel>
std::int64_t workspace_by_dtype(const SiblingArgs& args) {
  if (multiplies_narrow(args)) return Kernel<BFloat16>(args).rooms.bytes_of_all();
  return widened_workspace(
      args, [](const SiblingArgs& wide) { return Kernel<float>(wide).rooms.bytes_of_all(); });
}

/// Scratch memory of so many bytes for each thread.
class RoomOfThread {
 public:
  RoomOfThread(std::byte* workspace, std::int64_t bytes)
      : workspace_(workspace), bytes_(whole_lines(bytes)) {}

  std::int64_t bytes_of_all() const { return bytes_ * omp_get_max_threads(); }
  std::byte* own() const { return workspace_ + bytes_ * omp_get_thread_num(); }

 private:
  std::byte* workspace_;
  std::int64_t bytes_;
};

}  // namespace meshwork::cpu
