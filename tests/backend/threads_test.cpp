// Convolutions of numbers that round: any number of threads gives the same bits.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "kernel_runner.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

using Integers = std::vector<std::int64_t>;

/// An image, and the same numbers for all its spatial dimensions.
struct Layer {
  Shape x;
  std::int64_t filters;
  std::int64_t window, stride = 1;
  std::int64_t groups = 1;
};

/// The layer, padded to keep the extents at stride 1, and both its gradients.
void check_layer(const Layer& l) {
  CAPTURE(fmt::format("{} -> {}, window {}, stride {}, groups {}", to_string(l.x), l.filters,
                      l.window, l.stride, l.groups));
  const std::size_t rank = l.x.size() - 2;
  const std::int64_t padding = l.window / 2;
  Shape y{l.x[0]}, w(rank, l.window);
  for (std::size_t d = 1; d <= rank; ++d) {
    y.push_back((l.x[d] + 2 * padding - l.window) / l.stride + 1);
  }
  y.push_back(l.filters);
  w.push_back(l.x.back() / l.groups);
  w.push_back(l.filters);
  const Attrs attrs{{"strides", Integers(rank, l.stride)},
                    {"padding", Integers(rank, padding)},
                    {"dilations", Integers(rank, 1)},
                    {"groups", l.groups}};
  const Tensor image = normals(l.x, 1), kernel = normals(w, 2), result = normals(y, 3);
  check_threads("convolution", {image, kernel}, result.type, attrs);
  check_threads("convolution_backward_data", {result, kernel}, image.type, attrs);
  check_threads("convolution_backward_filter", {image, result}, kernel.type, attrs);
}

}  // namespace

TEST_CASE("convolutions and their gradients do not depend on the number of threads") {
  check_layer({{25, 28, 28, 1}, 12, 3});
  check_layer({{25, 28, 28, 12}, 24, 6, 2});
  check_layer({{25, 12, 12, 24}, 32, 6, 2});
  check_layer({{32, 32, 32, 3}, 16, 3});
  check_layer({{32, 32, 32, 16}, 16, 3});
  check_layer({{32, 32, 32, 16}, 32, 3, 2});
  check_layer({{32, 32, 32, 16}, 32, 1, 2});
  check_layer({{32, 8, 8, 64}, 64, 3});
  check_layer({{7, 28, 28, 64}, 256, 1});
  check_layer({{7, 28, 28, 256}, 64, 1});
  check_layer({{4, 7, 7, 512}, 512, 3});
  check_layer({{2, 7, 7, 1024}, 512, 1});
  check_layer({{2, 112, 112, 3}, 64, 7, 2});
  check_layer({{1, 56, 56, 64}, 64, 3});
}

TEST_CASE("convolutions in groups, of lines and of volumes do not depend on the threads") {
  check_layer({{9, 16, 16, 32}, 32, 3, 1, 32});
  check_layer({{9, 16, 16, 32}, 64, 3, 2, 32});
  check_layer({{9, 16, 16, 32}, 64, 3, 1, 4});
  check_layer({{9, 200, 16}, 24, 5});
  check_layer({{3, 10, 12, 14, 16}, 32, 3});
}
