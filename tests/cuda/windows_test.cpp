// Convolutions and pools on GPUs, of sizes that need several blocks, of odd ones, of rows that
// begin anywhere, of NaN and infinities, against the naive kernels.
#include <doctest/doctest.h>

#include <limits>

#include "cuda/window_uses.h"
#include "ops/ops.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr DType kFloat32 = DType::kFloat32, kBFloat16 = DType::kBFloat16;

void check_convolutions(const Geometry& g, std::int64_t shift = 0) {
  const std::vector<std::pair<DType, DType>> types{
      {kFloat32, kFloat32}, {kBFloat16, kFloat32}, {kBFloat16, kBFloat16}};
  for (const auto& [dtype, result] : types) {
    check_use(convolution(g, dtype, result), shift);
    check_use(backward_data(g, dtype, result), shift);
    check_use(backward_filter(g, dtype, result), shift);
  }
}

void check_pools(const Geometry& g, std::int64_t shift = 0) {
  for (const DType dtype : {kFloat32, kBFloat16}) {
    const Shape y = g.y(g.x.back());
    const auto attrs = [&](const Shape& extents) {
      return Attrs{
          {"window", g.w}, {"strides", g.strides}, {"padding", g.low}, {"extents", extents}};
    };
    const HostTensor x = integers(g.x, dtype, 1, -4, 4), dy = integers(y, dtype, 2, -4, 4);
    const TensorType like_x{dtype, g.x}, like_y{dtype, y};
    check_use({&ops::kMaxPool, {x}, attrs(inner(y)), like_y}, shift);
    check_use({&ops::kSumPool, {x}, attrs(inner(y)), like_y}, shift);
    check_use({&ops::kMaxPoolInput, {x, dy}, attrs(inner(g.x)), like_x}, shift);
    check_use({&ops::kSumPoolInput, {dy}, attrs(inner(g.x)), like_x}, shift);
  }
}

}  // namespace

TEST_CASE("kernels of windows: convolutions of several tiles, parts and slices") {
  check_convolutions({{2, 13, 11, 20}, {3, 3, 20, 70}, {1, 1}, {1, 1}, {1, 1}});
  check_convolutions({{3, 17, 19, 5}, {3, 2, 5, 33}, {2, 3}, {1, 0}, {2, 1}});
  check_convolutions({{1, 12, 15, 6}, {3, 3, 6, 9}, {2, 2}, {2, 3}, {2, 1}, {2, 3}});
  check_convolutions({{2, 5, 6, 7, 4}, {3, 2, 3, 4, 6}, {2, 1, 2}, {1, 1, 1}, {1, 0, 1}});
  check_convolutions({{2, 300, 3}, {7, 3, 130}, {3}, {3}, {2}});
  check_convolutions({{3, 31, 30, 8}, {1, 1, 8, 4}, {1, 1}, {0, 0}, {0, 0}});
}

TEST_CASE("kernels of windows: convolutions of single pixels, which are products") {
  for (const std::int64_t shift : {0, 1}) {
    check_convolutions({{2, 13, 11, 20}, {1, 1, 20, 70}, {1, 1}, {0, 0}, {0, 0}}, shift);
    check_convolutions({{1, 9, 16}, {1, 16, 3}, {1}, {0}, {0}}, shift);
    check_convolutions({{2, 3, 4, 5, 1}, {1, 1, 1, 1, 7}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}}, shift);
  }
  // Not of all pixels, or of more than there are.
  check_convolutions({{2, 6, 7, 8}, {1, 1, 8, 9}, {2, 1}, {0, 0}, {0, 0}});
  check_convolutions({{2, 6, 7, 8}, {1, 1, 8, 9}, {1, 1}, {1, 0}, {0, 1}});
  check_convolutions({{2, 6, 7, 8}, {1, 1, 4, 10}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 2});
}

TEST_CASE("kernels of windows: convolutions in patches of images") {
  check_convolutions({{3, 28, 28, 16}, {3, 3, 16, 16}, {1, 1}, {1, 1}, {1, 1}});
  check_convolutions({{5, 7, 7, 20}, {3, 3, 20, 64}, {1, 1}, {1, 1}, {1, 1}});
  check_convolutions({{2, 14, 14, 12}, {6, 6, 12, 24}, {2, 2}, {2, 2}, {2, 2}});
  check_convolutions({{2, 15, 13, 9}, {3, 3, 9, 10}, {2, 2}, {1, 1}, {1, 1}});
  check_convolutions({{2, 15, 12, 8}, {5, 2, 8, 8}, {2, 1}, {1, 0}, {3, 1}});
  check_convolutions({{130, 5, 4, 3}, {3, 3, 3, 5}, {1, 1}, {1, 1}, {1, 1}});
  check_convolutions({{2, 9, 40, 3}, {8, 8, 3, 70}, {2, 2}, {3, 3}, {4, 4}});
  check_convolutions({{2, 9, 9, 64}, {3, 3, 64, 64}, {1, 1}, {1, 1}, {1, 1}});
  check_convolutions({{3, 65, 4}, {5, 4, 6}, {2}, {2}, {2}});
  // Tiles of channels that no whole pack divides.
  check_convolutions({{1, 9, 8, 20}, {5, 5, 20, 8}, {1, 1}, {2, 2}, {2, 2}});
  check_convolutions({{2, 9, 8, 12}, {7, 7, 12, 28}, {1, 1}, {3, 3}, {3, 3}});
  check_convolutions({{1, 11, 10, 28}, {6, 8, 28, 5}, {2, 1}, {2, 3}, {2, 4}});
  // A part of an image that begins behind the first window.
  check_convolutions({{1, 8, 9, 8}, {1, 3, 8, 8}, {2, 2}, {-1, 1}, {0, 1}});
  check_convolutions({{2, 8, 9, 8}, {3, 1, 8, 8}, {1, 2}, {1, -1}, {1, 1}});
}

TEST_CASE("kernels of windows: convolutions whose threads have the most sums") {
  for (const Shape& image : {Shape{1, 112, 112}, Shape{16, 14, 98}}) {
    Shape narrow = image, wide = image;
    narrow.push_back(3);
    wide.push_back(64);
    check_use(convolution({narrow, {3, 3, 3, 64}, {1, 1}, {1, 1}, {1, 1}}, kFloat32, kFloat32));
    check_use(backward_data({wide, {3, 3, 64, 3}, {1, 1}, {1, 1}, {1, 1}}, kFloat32, kFloat32));
  }
}

TEST_CASE("kernels of windows: convolutions in groups") {
  check_convolutions({{2, 9, 8, 32}, {3, 3, 16, 40}, {1, 2}, {1, 1}, {1, 1}, {1, 1}, 2});
  check_convolutions({{1, 9, 8, 36}, {3, 3, 18, 34}, {2, 1}, {1, 1}, {1, 1}, {1, 1}, 2});
  check_convolutions({{2, 15, 14, 40}, {5, 5, 1, 40}, {1, 1}, {2, 2}, {2, 2}, {1, 1}, 40});
  check_convolutions({{2, 24, 23, 7}, {3, 3, 1, 14}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 7});
  check_convolutions({{1, 10, 12, 16}, {3, 3, 4, 12}, {2, 1}, {1, 2}, {1, 2}, {1, 2}, 4});
}

TEST_CASE("kernels of windows: convolutions whose windows lie in the padding") {
  check_convolutions({{1, 3, 2, 4}, {2, 2, 4, 5}, {1, 2}, {4, 5}, {3, 6}});
  check_convolutions({{2, 2, 3, 3}, {5, 7, 3, 4}, {1, 1}, {3, 4}, {4, 3}});
  check_convolutions({{2, 3, 3, 6}, {5, 5, 1, 6}, {1, 3}, {6, 4}, {6, 4}, {1, 1}, 6});
  check_convolutions({{1, 7, 9, 4}, {1, 1, 4, 4}, {3, 4}, {0, 0}, {0, 0}});
}

TEST_CASE("kernels of windows: convolutions of tensors that begin anywhere") {
  for (const std::int64_t shift : {1, 2}) {
    check_convolutions({{2, 6, 7, 8}, {3, 3, 8, 12}, {1, 1}, {1, 1}, {1, 1}}, shift);
    check_convolutions({{2, 6, 7, 8}, {3, 3, 1, 8}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 8}, shift);
  }
}

TEST_CASE("kernels of windows: convolutions that fill a GPU with the largest tiles") {
  for (const std::int64_t filters : {66, 36, 5}) {
    const Geometry g{{3, 110, 104, 4}, {1, 1, 4, filters}, {1, 1}, {0, 0}, {0, 0}};
    check_use(convolution(g, kFloat32, kFloat32));
  }
  for (const std::int64_t channels : {66, 36, 5}) {
    const Geometry g{{3, 110, 104, channels}, {2, 1, channels, 4}, {2, 1}, {0, 0}, {0, 0}};
    check_use(backward_data(g, kBFloat16, kFloat32));
  }
}

TEST_CASE("kernels of windows: what one image holds does not reach another") {
  const Geometry g{{3, 5, 5, 6}, {3, 3, 6, 10}, {2, 2}, {1, 1}, {1, 1}};
  for (Use use : {convolution(g, kFloat32, kFloat32), backward_data(g, kFloat32, kFloat32)}) {
    const auto image = static_cast<std::ptrdiff_t>(use.inputs[0].as<float>().size() / 3);
    std::fill_n(use.inputs[0].as<float>().begin() + image, image,
                std::numeric_limits<float>::quiet_NaN());
    check_use(use);
  }
}

TEST_CASE("kernels of windows: pools of every kind") {
  check_pools({{2, 30, 31, 24}, {3, 3}, {2, 2}, {1, 1}, {1, 1}});
  check_pools({{3, 17, 15, 7}, {2, 2}, {2, 2}, {0, 0}, {1, 1}});
  check_pools({{1, 20, 18, 5}, {16, 17}, {1, 1}, {8, 3}, {2, 8}});
  check_pools({{2, 3, 4, 6}, {2, 2}, {1, 3}, {4, 5}, {5, 4}});
  check_pools({{2, 5, 6, 7, 4}, {2, 3, 2}, {1, 2, 3}, {0, 1, 0}, {1, 1, 1}});
  check_pools({{2, 700, 8}, {5}, {3}, {2}, {2}});
  check_pools({{1, 9, 7, 16}, {3, 2}, {4, 3}, {0, 0}, {0, 0}});
  check_pools({{2, 6, 6, 16}, {3, 3}, {2, 2}, {1, 1}, {1, 1}}, 1);
}

TEST_CASE("kernels of windows: pools of NaN and infinities") {
  const Geometry g{{2, 9, 9, 4}, {3, 3}, {2, 2}, {1, 1}, {1, 1}};
  const Shape y = g.y(4);
  const Attrs forward{
      {"window", g.w}, {"strides", g.strides}, {"padding", g.low}, {"extents", inner(y)}};
  const Attrs backward{
      {"window", g.w}, {"strides", g.strides}, {"padding", g.low}, {"extents", inner(g.x)}};
  HostTensor x = integers(g.x, kFloat32, 1, 0, 9);
  for (float& element : x.as<float>()) {
    if (element == 7) element = std::numeric_limits<float>::quiet_NaN();
    if (element == 8) element = std::numeric_limits<float>::infinity();
    if (element < 4) element = -std::numeric_limits<float>::infinity();
  }
  const HostTensor dy = integers(y, kFloat32, 2, -4, 4);
  check_use({&ops::kMaxPool, {x}, forward, {kFloat32, y}});
  check_use({&ops::kMaxPoolInput, {x, dy}, backward, {kFloat32, g.x}});
}
