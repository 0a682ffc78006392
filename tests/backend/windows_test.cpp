// Convolutions, pools and their kin: naive kernels against another way to compute the same, and
// fast ones against naive ones.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/convolution_plan.h"
#include "backend/cpu/reference/index.h"
#include "window_cases.h"

using namespace meshwork;
using namespace meshwork::testing;
using meshwork::reference::for_each_index;
using meshwork::reference::offset_of;

namespace {

using Integers = std::vector<std::int64_t>;

Shape inner(const Shape& shape) { return {shape.begin() + 1, shape.end() - 1}; }

/// Where in its window result `o` finds the element `i`; {} where it does not.
Shape place_in_window(const Attrs& attrs, const Shape& window, const Shape& o, const Shape& i) {
  Shape place;
  for (std::size_t d = 0; d < o.size(); ++d) {
    const std::int64_t dilation =
        attrs.find("dilations") != nullptr ? attrs.integers("dilations")[d] : 1;
    const std::int64_t distance =
        i[d] - o[d] * attrs.integers("strides")[d] + attrs.integers("padding")[d];
    if (distance < 0 || distance % dilation != 0 || distance / dilation >= window[d]) return {};
    place.push_back(distance / dilation);
  }
  return place;
}

/// body(x, k, y): offsets among the spatial elements, for every pair of elements of which one reads
/// the other, found by going through all pairs.
template <class Body>
void for_each_pair(const Attrs& attrs, const Shape& x, const Shape& window, const Shape& y,
                   const Body& body) {
  for_each_index(y, [&](const Shape& o) {
    for_each_index(x, [&](const Shape& i) {
      const Shape k = place_in_window(attrs, window, o, i);
      if (k.empty()) return;
      body(offset_of(i, row_major_strides(x)), offset_of(k, row_major_strides(window)),
           offset_of(o, row_major_strides(y)));
    });
  });
}

/// The operand or result of a case that is the image x, the kernel w or the image y.
struct Convolution {
  Tensor x, w, y;
};

/// The three products of a convolution, each of the two other tensors.
Convolution products(const Attrs& attrs, const Convolution& t) {
  Convolution result{zeros(t.x.type), zeros(t.w.type), zeros(t.y.type)};
  const Shape &x = t.x.type.shape, &w = t.w.type.shape, &y = t.y.type.shape;
  const Shape window(w.begin(), w.end() - 2);
  const std::int64_t in = w[w.size() - 2], out = w.back() / attrs.integer("groups");
  const std::int64_t x_size = num_elements(inner(x)), y_size = num_elements(inner(y));
  for_each_pair(attrs, inner(x), window, inner(y),
                [&](std::int64_t i, std::int64_t k, std::int64_t o) {
                  for_each_index({x[0], in, w.back()}, [&](const Shape& index) {
                    const std::int64_t n = index[0], c = index[1], f = index[2];
                    const auto at_x =
                        static_cast<std::size_t>((n * x_size + i) * x.back() + f / out * in + c);
                    const auto at_w = static_cast<std::size_t>((k * in + c) * w.back() + f);
                    const auto at_y = static_cast<std::size_t>((n * y_size + o) * y.back() + f);
                    result.y.values[at_y] += t.x.values[at_x] * t.w.values[at_w];
                    result.x.values[at_x] += t.y.values[at_y] * t.w.values[at_w];
                    result.w.values[at_w] += t.x.values[at_x] * t.y.values[at_y];
                  });
                });
  return result;
}

bool is(const OpCase& op_case, const OpDef& op) { return op_case.op == &op; }

/// A pool over single images and channels, by sorting out which elements a window has.
Tensor pooled(const OpCase& op_case, const Tensor& x, const Tensor& y, bool max, bool gradient) {
  const Shape &from = x.type.shape, &to = y.type.shape;
  Tensor result = zeros(gradient ? x.type : y.type);
  const std::int64_t channels = from.back();
  const auto at = [&](std::int64_t n, std::int64_t size, std::int64_t i, std::int64_t c) {
    return static_cast<std::size_t>((n * size + i) * channels + c);
  };
  std::vector<std::vector<std::int64_t>> windows(static_cast<std::size_t>(num_elements(inner(to))));
  for_each_pair(op_case.attrs, inner(from), op_case.attrs.integers("window"), inner(to),
                [&](std::int64_t i, std::int64_t, std::int64_t o) {
                  windows[static_cast<std::size_t>(o)].push_back(i);
                });
  const std::int64_t x_size = num_elements(inner(from)), y_size = num_elements(inner(to));
  for_each_index({from[0], y_size, channels}, [&](const Shape& index) {
    const std::int64_t n = index[0], o = index[1], c = index[2];
    std::vector<std::int64_t> elements = windows[static_cast<std::size_t>(o)];
    if (max) {
      const auto greatest =
          std::max_element(elements.begin(), elements.end(), [&](std::int64_t a, std::int64_t b) {
            return x.values[at(n, x_size, a, c)] < x.values[at(n, x_size, b, c)];
          });
      elements = {*greatest};
    }
    for (const std::int64_t i : elements) {
      const std::size_t at_x = at(n, x_size, i, c), at_y = at(n, y_size, o, c);
      (gradient ? result.values[at_x] : result.values[at_y]) +=
          gradient ? y.values[at_y] : x.values[at_x];
    }
  });
  return result;
}

}  // namespace

TEST_CASE("naive convolutions multiply what they should") {
  int checked = 0;
  for (const OpCase& op_case : window_cases()) {
    INFO(op_case.name);
    const std::vector<Tensor> in = draw_all(op_case);
    Tensor expected;
    if (is(op_case, ops::kConvolution)) {
      expected = products(op_case.attrs, {in[0], in[1], zeros(op_case.output)}).y;
    } else if (is(op_case, ops::kConvolutionBackwardData)) {
      expected = products(op_case.attrs, {zeros(op_case.output), in[1], in[0]}).x;
    } else if (is(op_case, ops::kConvolutionBackwardFilter)) {
      expected = products(op_case.attrs, {in[0], zeros(op_case.output), in[1]}).w;
    } else {
      continue;
    }
    ++checked;
    check_close(naive(op_case, in), expected, 1e-6);
  }
  CHECK(checked > 60);
}

TEST_CASE("naive convolutions do not multiply by padding") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = floats({1, 2, 1}, {1, 2}), w = floats({3, 1, 1}, {nan, 10, 100});
  const std::vector<std::int64_t> one{1};
  const Attrs attrs{{"strides", one}, {"padding", one}, {"dilations", one}, {"groups", 1}};
  const Tensor y =
      run(*make_reference_backend(), "convolution", {x, w}, {DType::kFloat32, {1, 2, 1}}, attrs);
  CHECK(y.values[0] == 210);
  CHECK(std::isnan(y.values[1]));
}

TEST_CASE("naive pools take what they should") {
  int checked = 0;
  for (const OpCase& op_case : window_cases()) {
    INFO(op_case.name);
    const std::vector<Tensor> in = draw_all(op_case);
    const Tensor out = zeros(op_case.output);
    Tensor expected;
    if (is(op_case, ops::kSumPool)) {
      expected = pooled(op_case, in[0], out, false, false);
    } else if (is(op_case, ops::kSumPoolInput)) {
      expected = pooled(op_case, out, in[0], false, true);
    } else if (is(op_case, ops::kMaxPool)) {
      expected = pooled(op_case, in[0], out, true, false);
    } else if (is(op_case, ops::kMaxPoolInput)) {
      expected = pooled(op_case, in[0], in[1], true, true);
    } else {
      continue;
    }
    ++checked;
    check_close(naive(op_case, in), expected, 1e-6);
  }
  CHECK(checked > 50);
}

TEST_CASE("naive padding and sums over channels") {
  const auto backend = make_reference_backend();
  const TensorType two{DType::kFloat32, {2, 2}};
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor padded = run(*backend, "pad", {x}, {DType::kFloat32, {3, 4}},
                            {{"low", Integers{1, -1}}, {"shape", Shape{3, 4}}});
  CHECK(padded.values == std::vector<double>{0, 0, 0, 0, 2, 3, 0, 0, 5, 6, 0, 0});
  const Attrs first{{"axis", std::int64_t{0}}};
  CHECK(run(*backend, "shifted_sums", {x, floats({2}, {2, 4})}, {DType::kFloat32, {3, 2}}, first)
            .values == std::vector<double>{6, 15, 0, 3, 2, 5});
  CHECK(
      run(*backend, "scale_offset", {x, floats({2}, {2, -1}), floats({2}, {1, 10})}, x.type, first)
          .values == std::vector<double>{3, 5, 7, 6, 5, 4});
  CHECK(run(*backend, "scale_offset_sums", {x, floats({2, 3}, {1, 0, 2, -1, 1, 1})}, two, first)
            .values == std::vector<double>{7, 7, 3, 1});
}

TEST_CASE("fast kernels of windows and channels agree with naive ones on all cases") {
  for (const OpCase& op_case : window_cases()) {
    INFO(op_case.name);
    std::vector<Tensor> inputs;
    for (const CaseInput& input : op_case.inputs) {
      inputs.push_back(some_tensor(input.type.dtype, input.type.shape, inputs.size() + 1));
    }
    // Products of multiples of 1/8 add up without rounding.
    const std::vector<int> in_place =
        op_case.op->in_place ? std::vector<int>{0} : std::vector<int>{};
    check_fast(op_case.op->name, inputs, op_case.output, op_case.attrs, 0, in_place);
  }
}

namespace {

/// An image, a kernel, and the same numbers for both spatial dimensions.
struct Layer {
  Shape x;
  std::int64_t filters;
  std::int64_t window, stride, padding;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
};

void check_layer(const Layer& l) {
  CAPTURE(fmt::format("{} -> {} {}x{} stride {} padding {} dilation {} groups {}", to_string(l.x),
                      l.filters, l.window, l.window, l.stride, l.padding, l.dilation, l.groups));
  Shape y{l.x[0]}, w;
  for (std::size_t d = 1; d + 1 < l.x.size(); ++d) {
    y.push_back((l.x[d] + 2 * l.padding - (l.window - 1) * l.dilation - 1) / l.stride + 1);
    w.push_back(l.window);
  }
  const std::size_t rank = w.size();
  y.push_back(l.filters);
  w.push_back(l.x.back() / l.groups);
  w.push_back(l.filters);
  Attrs attrs{{"strides", Integers(rank, l.stride)},
              {"padding", Integers(rank, l.padding)},
              {"dilations", Integers(rank, l.dilation)},
              {"groups", l.groups}};
  const Tensor image = some_floats(l.x, 1), kernel = some_floats(w, 2), result = some_floats(y, 3);
  check_fast("convolution", {image, kernel}, result.type, attrs);
  check_fast("convolution_backward_data", {result, kernel}, image.type, attrs);
  check_fast("convolution_backward_filter", {image, result}, kernel.type, attrs);
}

}  // namespace

TEST_CASE("fast convolutions agree with naive ones for all numbers of channels") {
  for (const std::int64_t channels : {1, 3, 12, 32}) {
    for (const std::int64_t filters : {1, 8, 12, 33}) {
      check_layer({{2, 5, 7, channels}, filters, 3, 1, 1});
    }
    check_layer({{2, 9, 8, channels}, 12, 6, 2, 2});
    check_layer({{2, 9, 8, channels}, 16, 1, 2, 0});
    check_layer({{2, 9, 8, channels}, 16, 1, 1, 0});
    check_layer({{2, 9, 8, channels}, 7, 2, 3, 0});
    check_layer({{2, 9, 8, channels}, 16, 3, 1, 2, 2});
    check_layer({{1, 9, 8, channels}, 6, 3, 2, 2, 2});
    check_layer({{1, 4, 3, channels}, 6, 7, 1, 3});
    check_layer({{2, 5, 6, channels}, 16, 2, 1, 4});
    check_layer({{2, 5, 6, channels}, 6, 1, 1, 2});
    check_layer({{2, 50, channels}, 6, 5, 2, 2});
    check_layer({{1, 4, 5, 6, channels}, 6, 3, 1, 1});
    check_layer({{1, 4, 7, 6, channels}, 6, 3, 2, 1, 2});
  }
  check_layer({{1, 35, 33, 2}, 2, 31, 1, 15});
}

TEST_CASE("gradients of images by flipped kernels agree with naive ones") {
  for (const std::int64_t channels : {16, 32}) {
    check_layer({{2, 7, 6, channels}, 16, 3, 1, 1});
    check_layer({{2, 7, 6, channels}, 48, 3, 1, 0});
    check_layer({{2, 7, 6, channels}, 16, 2, 1, 1});
    check_layer({{2, 9, 8, channels}, 16, 3, 1, 2, 2});
    check_layer({{2, 5, 6, channels}, 16, 2, 1, 4});
    check_layer({{2, 30, channels}, 32, 5, 1, 2});
    check_layer({{1, 4, 5, 6, channels}, 16, 3, 1, 1});
  }
}

TEST_CASE("a stride of the last dimension becomes channels where the window is a multiple of it") {
  cpu::ConvolutionPlan plan;
  plan.in = 12;
  plan.slides = {{.x = 28, .y = 12, .window = 6, .stride = 2},
                 {.x = 28, .y = 13, .window = 6, .stride = 2, .padding = 2}};
  plan.high = {0, 0};
  REQUIRE(plan.fold_stride());
  CHECK(plan.in == 24);
  CHECK(plan.slides[0].stride == 2);
  CHECK(plan.slides[1].x == 14);
  CHECK(plan.slides[1].window == 3);
  CHECK(plan.slides[1].stride == 1);
  CHECK(plan.slides[1].padding == 1);
  CHECK(plan.high.back() == 0);
  CHECK_FALSE(plan.fold_stride());
  plan.slides[1] = {.x = 28, .y = 13, .window = 3, .stride = 2};
  CHECK_FALSE(plan.fold_stride());

  for (const std::int64_t channels : {1, 5, 12}) {
    check_layer({{2, 12, 12, channels}, 24, 6, 2, 0});
    check_layer({{2, 12, 12, channels}, 24, 6, 2, 2});
    check_layer({{2, 9, 12, channels}, 7, 6, 3, 3});
    check_layer({{2, 8, 8, channels}, 7, 4, 4, 0});
    check_layer({{2, 8, 10, channels}, 5, 2, 2, 4});
    check_layer({{2, 11, 14, channels}, 5, 4, 2, 0});
    check_layer({{2, 24, channels}, 6, 4, 2, 2});
    check_layer({{1, 4, 6, 8, channels}, 6, 2, 2, 0});
  }
}

TEST_CASE("fast convolutions in groups agree with naive ones") {
  for (const std::int64_t groups : {2, 5, 16}) {
    for (const std::int64_t in : {1, 3, 8}) {
      for (const std::int64_t out : {1, 2, 8}) {
        check_layer({{2, 5, 6, groups * in}, groups * out, 3, 1, 1, 1, groups});
      }
      check_layer({{1, 6, 7, groups * in}, groups * in, 3, 2, 1, 1, groups});
      check_layer({{1, 6, 7, groups * in}, groups * in, 3, 1, 4, 2, groups});
      check_layer({{2, 6, 7, groups * in}, groups * 4, 1, 1, 0, 1, groups});
    }
    check_layer({{2, 30, groups}, groups * 2, 4, 1, 0, 2, groups});
    check_layer({{1, 3, 4, 5, groups}, groups, 3, 1, 1, 1, groups});
  }
}

TEST_CASE("fast pools and sums over channels agree with naive ones on many elements") {
  for (const std::int64_t channels : {1, 3, 12, 16, 100, 300}) {
    const Shape x{5, 23, 21, channels}, y{5, 11, 10, channels};
    const Tensor image = some_floats(x, 1), result = some_floats(y, 2);
    const Attrs attrs{
        {"window", Integers{3, 2}}, {"strides", Integers{2, 2}}, {"padding", Integers{0, 0}}};
    check_fast("max_pool", {image}, result.type, attrs);
    check_fast("max_pool_input", {image, result}, image.type, attrs);
    check_fast("sum_pool", {image}, result.type, attrs);
    check_fast("sum_pool_input", {result}, image.type, attrs);
    check_fast("pad", {image}, {DType::kFloat32, {5, 24, 18, channels}},
               {{"low", Integers{0, 2, -3, 0}}, {"shape", Shape{5, 24, 18, channels}}});
  }
  for (const std::int64_t channels : {1, 3, 12, 16, 255, 256, 257, 1025, 3000}) {
    for (const std::int64_t rows : {1, 7, 333, 2000}) {
      if (channels * rows > 1000000) continue;
      const Tensor x = some_floats({rows, channels}, 1), dy = some_floats({rows, channels}, 2);
      const Tensor a = some_floats({channels}, 3), b = some_floats({channels}, 4);
      const Attrs last{{"axis", std::int64_t{1}}};
      const TensorType sums{DType::kFloat32, {2, channels}};
      const TensorType shifted_sums{DType::kFloat32, {3, channels}};
      check_fast("shifted_sums", {x, a}, shifted_sums, last);
      check_fast("scale_offset_sums", {x, dy}, sums, last);
      check_fast("scale_offset", {x, a, b}, x.type, last, 0, {0});
      const Tensor z = some_floats({2, channels, rows}, 5),
                   dz = some_floats({2, channels, rows}, 6);
      check_fast("shifted_sums", {z, a}, shifted_sums, last);
      check_fast("scale_offset_sums", {z, dz}, sums, last);
      check_fast("scale_offset", {z, a, b}, z.type, last, 0, {0});
    }
  }
}

TEST_CASE("shifted_sums around a shift near the mean keep the variance of large numbers") {
  constexpr std::int64_t kRows = 200000;
  Tensor x = some_floats({kRows, 3}, 7);
  for (double& value : x.values) value = 4096 + value / 64;
  const Tensor shift = floats({3}, {4096, 4096, 4096});
  const Tensor y = run(*make_cpu_backend(2), "shifted_sums", {x, shift}, {DType::kFloat32, {3, 3}},
                       {{"axis", std::int64_t{1}}});
  for (std::size_t c = 0; c < 3; ++c) {
    double mean = 0, variance = 0;
    for (std::size_t i = c; i < x.values.size(); i += 3) mean += x.values[i] / kRows;
    for (std::size_t i = c; i < x.values.size(); i += 3) {
      variance += (x.values[i] - mean) * (x.values[i] - mean) / kRows;
    }
    const double offset = y.values[3 + c] / kRows;
    CHECK(y.values[6 + c] / kRows - offset * offset == doctest::Approx(variance).epsilon(1e-4));
    CHECK(4096 + offset == doctest::Approx(mean).epsilon(1e-9));
    CHECK(y.values[c] / kRows == doctest::Approx(mean).epsilon(1e-7));
  }
}

TEST_CASE("pools pass NaN on and give its gradient to the first") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = floats({1, 4, 1}, {1, nan, 3, nan});
  const Attrs attrs{{"window", Integers{4}}, {"strides", Integers{1}}, {"padding", Integers{0}}};
  for (const auto& backend : {make_reference_backend(), make_cpu_backend(1)}) {
    const Tensor y = run(*backend, "max_pool", {x}, {DType::kFloat32, {1, 1, 1}}, attrs);
    CHECK(std::isnan(y.values[0]));
    const Tensor dx = run(*backend, "max_pool_input", {x, floats({1, 1, 1}, {5})}, x.type, attrs);
    CHECK(dx.values == std::vector<double>{0, 5, 0, 0});
    const Tensor low = floats({1, 2, 1}, {-HUGE_VAL, -HUGE_VAL});
    const Attrs two{{"window", Integers{2}}, {"strides", Integers{1}}, {"padding", Integers{0}}};
    const Tensor dlow =
        run(*backend, "max_pool_input", {low, floats({1, 1, 1}, {5})}, low.type, two);
    CHECK(dlow.values == std::vector<double>{5, 0});
  }
}
