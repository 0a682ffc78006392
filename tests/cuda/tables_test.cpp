// Kernels of tables: rows by number, gradients of tables with many and with few repeats, rows of
// slots, stored numbers of every dtype.
#include <doctest/doctest.h>

#include <cstring>

#include "base/bfloat16.h"
#include "cuda/case_runs.h"
#include "cuda/placed_call.h"
#include "cuda/values.h"
#include "ops/ops.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr std::array kFloats{DType::kFloat32, DType::kBFloat16};

/// The device has rows from `first` on of all rows of a table.
Region rows_from(std::int64_t first, const Shape& part, std::int64_t all) {
  return {{all, part[1]}, {first, 0}};
}

Call gradient_call(DType from, DType to, const HostTensor& index, std::int64_t rows,
                   std::int64_t width) {
  const std::int64_t positions = num_elements(index.type.shape);
  return whole_call(ops::kEmbeddingGradient, {random_fractions({from, {positions, width}}), index},
                    {{"rows", rows}}, {to, {rows, width}});
}

void check_gradient(const HostTensor& index, std::int64_t rows, std::int64_t width) {
  check_bytes(gradient_call(DType::kFloat32, DType::kFloat32, index, rows, width));
  check_bytes(gradient_call(DType::kBFloat16, DType::kBFloat16, index, rows, width));
}

}  // namespace

TEST_CASE("tables of GPUs: rows of a table") {
  for (const DType dtype : kFloats) {
    for (const std::int64_t width : {7, 33, 96}) {
      Call call =
          whole_call(ops::kEmbedding,
                     {random_fractions({dtype, {50, width}}), random_integers({4, 60}, -2, 80)}, {},
                     {dtype, {4, 60, width}});
      check_bytes(call);
      check_bytes(call, {.shift = 1});
      call.inputs[0].region = rows_from(20, {50, width}, 90);
      check_bytes(call);
    }
  }
}

TEST_CASE("tables of GPUs: gradients are added up in the order of positions") {
  // Fractions would hide the order, so these are of many sizes.
  const std::int64_t positions = 900, width = 40, rows = 600;
  HostTensor index = random_integers({positions}, -3, rows + 3);
  for (std::size_t i = 0; i < 900; ++i) {
    if (i % 3 != 0) index.as<std::int32_t>()[i] = i % 3 == 1 ? 5 : 513;
  }
  Call call = gradient_call(DType::kFloat32, DType::kFloat32, index, rows, width);
  std::int64_t i = 0;
  for (float& x : call.inputs[0].tensor.as<float>()) {
    const std::int64_t row = i++ / width;
    x = std::ldexp(x + 0.01F, static_cast<int>(row * 7 % 31) - 15);
  }
  check_bytes(call);
  check_bytes(call, {.shift = 1});
  call.region = rows_from(300, {rows, width}, 2 * rows);
  check_bytes(call);

  Call narrow = gradient_call(DType::kBFloat16, DType::kFloat32, index, rows, width);
  narrow.attrs.set("dtype", std::string("float32"));
  check_bytes(narrow);
}

TEST_CASE("tables of GPUs: gradients of rows with as many positions as a block takes, and more") {
  for (const std::int64_t count : {127, 128, 129, 255, 256, 257, 400}) {
    for (const std::int64_t before : {0, 1, 127, 128}) {
      INFO(count, " behind ", before);
      HostTensor index = host_tensor(TensorType{DType::kInt32, {before + count}});
      for (std::int64_t i = before; i < before + count; ++i) {
        index.as<std::int32_t>()[static_cast<std::size_t>(i)] = 1;
      }
      check_gradient(index, 2, 5);
    }
  }
}

TEST_CASE("tables of GPUs: gradients of tables of whole and of broken blocks of rows") {
  for (const std::int64_t rows : {1, 511, 512, 513, 1024}) {
    check_gradient(random_integers({300}, 0, rows - 1), rows, 8);
  }
  check_gradient(random_integers({2, 1100}, 0, 3), 4, 34);
  check_gradient(host_tensor(TensorType{DType::kInt32, {0}}), 700, 3);
}

TEST_CASE("tables of GPUs: one_hot, take_along_axis") {
  for (const std::int64_t depth : {1, 10, 999, 1000}) {
    const HostTensor index = random_integers({7, 9}, -2, depth + 1);
    Call hot =
        whole_call(ops::kOneHot, {index}, {{"depth", depth}}, {DType::kFloat32, {7, 9, depth}});
    check_bytes(hot);
    check_bytes(hot, {.shift = 1});
    hot.region = {{7, 9, 3 * depth}, {0, 0, depth / 2}};
    check_bytes(hot);
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kUInt8, DType::kInt64}) {
      Call taken = whole_call(ops::kTakeAlongAxis, {random_bytes({dtype, {7, 9, depth}}), index},
                              {}, {dtype, {7, 9}});
      check_bytes(taken);
      taken.inputs[0].region = {{7, 9, 3 * depth}, {0, 0, depth / 2}};
      check_bytes(taken);
    }
  }
}

TEST_CASE("tables of GPUs: slots of experts, of which a device has some") {
  const std::int64_t experts = 9, capacity = 11, samples = 3, steps = 50;
  const HostTensor choices = random_integers({samples, steps, 2}, -2, experts + 2);
  const Attrs attrs{{"experts", experts}, {"capacity", capacity}};
  Call assign = whole_call(ops::kAssignSlots, {choices}, attrs, choices.type);
  check_bytes(assign);
  const HostTensor slots = call_naive(assign);
  const Region part{{experts, samples, capacity, 0}, {4, 0, 3, 0}};
  for (const DType dtype : kFloats) {
    for (const std::int64_t width : {1, 7, 32}) {
      const TensorType all{dtype, {experts, samples, capacity, width}};
      const TensorType some{dtype, {3, samples, 5, width}};
      const auto part_of = [&](Region region) {
        region.global[3] = width;
        return region;
      };
      for (const std::int64_t ranks : {1, 2}) {
        const HostTensor x = random_fractions({dtype, {samples, steps, ranks, width}});
        Call sent = whole_call(ops::kDispatch, {x, slots}, attrs, all);
        check_bytes(sent);
        check_bytes(sent, {.shift = 1});
        sent.output = some;
        sent.region = part_of(part);
        check_bytes(sent);
      }
      const TensorType rows{dtype, {samples, steps, 2, width}};
      const Call back = whole_call(ops::kCombine, {random_fractions(all), slots}, {}, rows);
      check_bytes(back);
      check_bytes(back, {.shift = 1});
      Call partly = whole_call(ops::kCombine, {random_fractions(some), slots}, {}, rows);
      partly.inputs[0].region = part_of(part);
      check_bytes(partly);
    }
  }
}

TEST_CASE("tables of GPUs: rows that are written in place of every operand") {
  struct Written {
    Shape x;
    std::int64_t rows;
  };
  const std::vector<Written> list{
      {{3, 70, 40}, 1}, {{3, 70, 40}, 70}, {{4, 30, 2, 3}, 9}, {{5, 20}, 20}, {{2, 16, 8}, 16}};
  for (const auto& [shape, rows] : list) {
    for (const DType dtype : kFloats) {
      Shape part = shape;
      part[1] = rows;
      Call call = whole_call(ops::kWriteRows,
                             {random_bytes({dtype, shape}), random_bytes({dtype, part}),
                              random_integers({shape[0]}, -4, shape[1])},
                             {}, {dtype, shape});
      for (const std::int64_t offset : {0, 9}) {
        call.region.offset[1] = offset;
        check_bytes(call);
        check_bytes(call, {.shift = 1});
        check_bytes(call, {.in_place = 0});
        check_bytes(call, {.shift = 1, .in_place = 0});
        if (rows == shape[1]) check_bytes(call, {.in_place = 1});
      }
    }
  }
}

namespace {

constexpr std::array kStored{DType::kUInt8,   DType::kInt8,     DType::kUInt16,  DType::kInt16,
                             DType::kUInt32,  DType::kInt32,    DType::kUInt64,  DType::kInt64,
                             DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64};

/// Any stored numbers; of floats ones of moderate size, and whole ones among them.
HostTensor stored(DType dtype, const Shape& shape) {
  HostTensor tensor = random_bytes({dtype, shape});
  std::int64_t i = 0;
  const auto next = [&] {
    ++i;
    return static_cast<double>(i * 37 % 1000) / (i % 3 == 0 ? 1 : 8) - 50;
  };
  if (dtype == DType::kFloat64) {
    for (double& x : tensor.as<double>()) x = next();
  } else if (dtype == DType::kFloat32) {
    for (float& x : tensor.as<float>()) x = static_cast<float>(next());
  } else if (dtype == DType::kBFloat16) {
    for (BFloat16& x : tensor.as<BFloat16>()) x = BFloat16(static_cast<float>(next()));
  }
  return tensor;
}

void check_equal(const Call& call, const Places& places = {}) {
  static const auto naive = make_reference_backend();
  const HostTensor expected =
      call_kernel(*naive, call.op, call.inputs, call.attrs, call.output, call.region);
  CHECK(difference(call_placed(call, places), expected, 0) == "");  // NaN has many bits
}

Attrs conversion(DType to, double scale, double offset, std::int64_t channels = 0) {
  Attrs attrs{{"dtype", std::string(to_string(to))}, {"scale", scale}, {"offset", offset}};
  if (channels == 0) return attrs;
  std::vector<double> mean, std;
  for (std::int64_t c = 0; c < channels; ++c) {
    mean.push_back(0.37 * static_cast<double>(c) - 1);
    std.push_back(0.5 + 0.01 * static_cast<double>(c));
  }
  attrs.set("mean", mean);
  attrs.set("std", std);
  return attrs;
}

}  // namespace

TEST_CASE("tables of GPUs: stored numbers of every dtype, whole and in rows") {
  const Shape shape{11, 5, 4, 3};
  for (const DType dtype : kStored) {
    INFO(to_string(dtype));
    const HostTensor x = stored(dtype, shape);
    const HostTensor rows = random_integers({19}, -1, 11);
    std::vector<Attrs> conversions{conversion(DType::kFloat32, 1 / 255.0, 0.25, 3),
                                   conversion(DType::kInt32, 0.5, -3)};
    if (dtype == DType::kUInt8 || dtype == DType::kInt64) {
      conversions.push_back(conversion(DType::kFloat32, 1, 0));
      conversions.push_back(conversion(DType::kInt32, 1, 0));
    }
    for (const Attrs& attrs : conversions) {
      const DType to = dtype_from_string(attrs.text("dtype"));
      check_equal(whole_call(ops::kConvert, {x}, attrs, {to, shape}));
      check_equal(whole_call(ops::kConvert, {x}, attrs, {to, shape}), {.shift = 1});
      Call taken = whole_call(ops::kTakeRows, {x, rows}, attrs, {to, {19, 5, 4, 3}});
      check_equal(taken);
      check_equal(taken, {.shift = 1});
      // A device's part of each row.
      taken.output.shape = {19, 2, 3, 3};
      taken.region = {{19, 5, 4, 3}, {0, 3, 1, 0}};
      check_equal(taken);
      taken.output.shape = {19, 5, 4, 2};
      taken.region = {{19, 5, 4, 3}, {0, 0, 0, 1}};
      check_equal(taken);
    }
  }
}

TEST_CASE("tables of GPUs: more channels than a kernel takes") {
  for (const std::int64_t channels : {256, 257, 784}) {
    const Attrs attrs = conversion(DType::kFloat32, 1 / 255.0, 0, channels);
    const Shape shape{4, 2, channels};
    const HostTensor x = stored(DType::kUInt8, shape);
    check_equal(whole_call(ops::kConvert, {x}, attrs, {DType::kFloat32, shape}));
    Call taken = whole_call(ops::kTakeRows, {x, random_integers({6}, -1, 4)}, attrs,
                            {DType::kFloat32, {6, 2, channels}});
    check_equal(taken);
    taken.output.shape = {6, 2, channels - 1};
    taken.region = {{6, 2, channels}, {0, 0, 1}};
    check_equal(taken);
  }
}

TEST_CASE("tables of GPUs: large batches of bytes") {
  const HostTensor x = stored(DType::kUInt8, {40, 28, 28});
  check_equal(whole_call(ops::kTakeRows, {x, random_integers({64}, 0, 39)},
                         conversion(DType::kFloat32, 1 / 255.0, 0, 1),
                         {DType::kFloat32, {64, 28, 28}}));
  const HostTensor labels = stored(DType::kInt64, {1000});
  check_equal(whole_call(ops::kTakeRows, {labels, random_integers({300}, -1, 1000)},
                         conversion(DType::kInt32, 1, 0), {DType::kInt32, {300}}));
}
