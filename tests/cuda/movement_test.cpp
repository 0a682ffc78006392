// Kernels that move elements on shapes of several blocks, of any width of words, in place and away
// from aligned addresses.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "backend/cuda/index.h"
#include "base/bfloat16.h"
#include "cuda/placed_call.h"
#include "cuda/values.h"
#include "ops/ops.h"
#include "support/dice.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

using Integers = std::vector<std::int64_t>;

constexpr std::array kDTypes{DType::kUInt8, DType::kBFloat16, DType::kFloat32, DType::kInt32,
                             DType::kInt64};
constexpr std::array kWidths{DType::kUInt8, DType::kBFloat16, DType::kFloat32, DType::kInt64};

/// Aligned, and not.
void check_placed(const Call& call) {
  for (const std::int64_t shift : {0, 1, 2}) {
    INFO("shifted by ", shift);
    check_bytes(call, {.shift = shift});
  }
}

Call transposed(DType dtype, const Shape& from, const Integers& perm) {
  Shape to;
  for (const std::int64_t dim : perm) to.push_back(from[static_cast<std::size_t>(dim)]);
  return whole_call(ops::kTranspose, {random_bytes({dtype, from})}, {{"perm", perm}}, {dtype, to});
}

Call concatenated(DType dtype, const std::vector<Shape>& shapes, std::int64_t axis) {
  const auto a = static_cast<std::size_t>(axis);
  Shape all = shapes.front();
  all[a] = 0;
  std::vector<HostTensor> inputs;
  for (const Shape& shape : shapes) {
    inputs.push_back(random_bytes({dtype, shape}));
    all[a] += shape[a];
  }
  return whole_call(ops::kConcatenate, inputs, {{"axis", axis}}, {dtype, all});
}

}  // namespace

TEST_CASE("movement of GPUs: transpositions of every width of words") {
  struct Permutation {
    Shape from;
    Integers perm;
  };
  const std::vector<Permutation> list{
      {{100, 70}, {1, 0}},
      {{65, 129}, {1, 0}},
      {{8, 300}, {1, 0}},
      {{7, 300}, {1, 0}},
      {{3, 70, 65}, {0, 2, 1}},
      {{3, 70, 65}, {2, 1, 0}},
      {{3, 70, 66}, {2, 0, 1}},
      {{2, 40, 3, 64}, {0, 2, 1, 3}},
      {{40, 24, 4}, {1, 0, 2}},
      {{40, 24, 16}, {1, 0, 2}},
      {{4, 33, 5, 34}, {3, 2, 1, 0}},
      {{2, 3, 5, 7}, {3, 1, 2, 0}},
  };
  for (const Permutation& p : list) {
    for (const DType dtype : kWidths) {
      const Call call = transposed(dtype, p.from, p.perm);
      INFO(to_string(call.inputs[0].tensor.type));
      check_placed(call);
    }
  }
}

TEST_CASE("movement of GPUs: more dimensions than a kernel takes") {
  Integers reversed(11);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  check_bytes(transposed(DType::kFloat32, Shape(11, 2), reversed));
  check_bytes(transposed(DType::kBFloat16, {2, 2, 2, 2, 2, 2, 2, 2, 2, 9, 10},
                         {9, 0, 2, 4, 6, 8, 1, 3, 5, 7, 10}));
  check_bytes(transposed(DType::kBFloat16, {2, 2, 2, 2, 2, 2, 2, 2, 2, 9, 10},
                         {10, 1, 0, 3, 2, 5, 4, 7, 6, 8, 9}));
}

TEST_CASE("movement of GPUs: slices, broadcasts and concatenations of several blocks") {
  for (const DType dtype : kWidths) {
    for (const std::int64_t start : {0, 1, 4, 6}) {
      const Attrs attrs{{"axis", std::int64_t{1}}, {"start", start}, {"size", std::int64_t{120}}};
      check_placed(whole_call(ops::kSlice, {random_bytes({dtype, {30, 128, 3}})}, attrs,
                              {dtype, {30, 120, 3}}));
      check_placed(
          whole_call(ops::kSlice, {random_bytes({dtype, {40, 128}})}, attrs, {dtype, {40, 120}}));
    }
    const std::vector<std::pair<Shape, Shape>> broadcasts{
        {{1, 300}, {20, 300}}, {{70, 1}, {70, 90}}, {{}, {5000}}, {{3, 1, 64}, {2, 3, 20, 64}}};
    for (const auto& [from, to] : broadcasts) {
      check_placed(whole_call(ops::kBroadcastTo, {random_bytes({dtype, from})}, {{"shape", to}},
                              {dtype, to}));
    }
    check_placed(concatenated(dtype, {{37, 16}, {37, 8}, {37, 64}}, 1));
    check_placed(concatenated(dtype, {{37, 5}, {37, 1}, {37, 44}}, 1));
    check_placed(concatenated(dtype, {{1000}, {24}, {4096}}, 0));
  }
  std::vector<Shape> many;
  for (std::int64_t i = 0; i < 40; ++i) many.push_back({11, i % 7});
  check_bytes(concatenated(DType::kFloat32, many, 1));
}

TEST_CASE("movement of GPUs: packed blocks and halos of several blocks") {
  for (const DType dtype : kWidths) {
    for (const Integers& extents : {Integers{20, 21, 22}, Integers{32, 0, 16, 15}}) {
      const Shape shape{9, 63, 8};
      const Shape flat{num_elements(shape)};
      const Attrs attrs{{"dim", std::int64_t{1}}, {"extents", extents}, {"shape", shape}};
      check_placed(whole_call(ops::kPack, {random_bytes({dtype, shape})}, attrs, {dtype, flat}));
      check_placed(whole_call(ops::kUnpack, {random_bytes({dtype, flat})}, attrs, {dtype, shape}));
    }
    const Integers counts{64, 64, 33, 64, 64, 33, 64, 64, 30, 48, 48, 0};
    const TensorType all{dtype, {576}};
    for (const std::int64_t columns : {1, 3, 4, 12}) {
      check_placed(whole_call(ops::kTransposeBlocks, {random_bytes(all)},
                              {{"counts", counts}, {"columns", columns}}, all));
    }
    check_placed(whole_call(
        ops::kHaloPack, {random_bytes({dtype, {6, 40, 12}})},
        {{"dim", std::int64_t{1}}, {"starts", Integers{0, 37}}, {"extents", Integers{2, 3}}},
        {dtype, {6 * 5 * 12}}));
    check_placed(whole_call(
        ops::kHaloUnpack, {random_bytes({dtype, {6, 40, 12}}), random_bytes({dtype, {6 * 5 * 12}})},
        {{"dim", std::int64_t{1}},
         {"start", std::int64_t{0}},
         {"extents", Integers{2, 40, 3}},
         {"own", std::int64_t{1}}},
        {dtype, {6, 45, 12}}));
  }
}

TEST_CASE("movement of GPUs: padding") {
  struct Padded {
    Shape from;
    Integers low;
    Shape to;
  };
  const std::vector<Padded> list{
      {{2, 28, 28, 3}, {0, 1, 2, 0}, {2, 30, 33, 3}},
      {{2, 28, 28, 16}, {0, 1, 1, 0}, {2, 30, 30, 16}},
      {{2, 20, 20, 4}, {0, -3, -2, 0}, {2, 14, 19, 4}},
      {{50, 33}, {0, 4}, {50, 40}},
      {{50, 32}, {-8, 8}, {30, 64}},
      {{7}, {2000}, {3000}},
      {{3, 4}, {5, 5}, {4, 4}},
  };
  for (const Padded& p : list) {
    for (const DType dtype : kWidths) {
      check_placed(whole_call(ops::kPad, {random_bytes({dtype, p.from})},
                              {{"low", p.low}, {"shape", p.to}}, {dtype, p.to}));
    }
  }
}

TEST_CASE("movement of GPUs: constants of every dtype") {
  for (const DType dtype : kDTypes) {
    for (const std::int64_t count : {1, 3, 5000, 4099}) {
      const Attrs attrs{{"value", 7.0}, {"dtype", std::string(to_string(dtype))}};
      check_placed(whole_call(ops::kConstant, {}, attrs, {dtype, {count}}));
    }
    check_bytes(whole_call(ops::kIota, {}, {{"dim", std::int64_t{1}}}, {dtype, {5, 400, 3}}));
  }
  check_bytes(whole_call(ops::kConstant, {}, {{"value", -0.1}}, {DType::kBFloat16, {9}}));
  check_bytes(whole_call(ops::kIdentityMatrix, {}, {{"gain", 0.5}}, {DType::kFloat32, {90, 70}}));
  Call part = whole_call(ops::kIota, {}, {{"dim", std::int64_t{0}}}, {DType::kBFloat16, {40, 30}});
  part.region = {{5000, 30}, {3001, 0}};
  check_bytes(part);
}

namespace {

/// Numbers at which casts turn: ends of ranges, halves, numbers that are none.
HostTensor odd_numbers(DType dtype) {
  const float huge = std::numeric_limits<float>::max();
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> floats{0.0F,    -0.0F,   0.5F,          -0.5F,         1.5F,
                            -1.99F,  127.9F,  255.5F,        256.0F,        -1.0F,
                            1e-40F,  1e-20F,  2147483500.0F, 2147483648.0F, -2147483648.0F,
                            1e10F,   -1e10F,  9.2e18F,       1e19F,         -1e19F,
                            huge,    -huge,   infinity,      -infinity,     std::nanf(""),
                            3.0039F, 1.0039F, 1.01171875F,   1.00390625F,   16777216.0F};
  std::vector<std::int64_t> wholes{0,
                                   1,
                                   -1,
                                   255,
                                   256,
                                   -129,
                                   16777217,
                                   2147483647,
                                   -2147483648,
                                   4294967296 + 5,
                                   std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::min(),
                                   33554435};
  HostTensor tensor = host_tensor(TensorType{dtype, {1031}});
  for (std::size_t i = 0; i < 1031; ++i) {
    const std::int64_t whole = wholes[i % wholes.size()];
    const float number = floats[i % floats.size()];
    if (dtype == DType::kFloat32) tensor.as<float>()[i] = number;
    if (dtype == DType::kBFloat16) tensor.as<BFloat16>()[i] = BFloat16(number);
    if (dtype == DType::kInt32) tensor.as<std::int32_t>()[i] = static_cast<std::int32_t>(whole);
    if (dtype == DType::kInt64) tensor.as<std::int64_t>()[i] = whole;
    if (dtype == DType::kUInt8) tensor.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  }
  return tensor;
}

}  // namespace

TEST_CASE("movement of GPUs: casts between all dtypes") {
  for (const DType from : kDTypes) {
    for (const DType to : kDTypes) {
      INFO(to_string(from), " to ", to_string(to));
      const HostTensor x = odd_numbers(from);
      const Attrs attrs{{"dtype", std::string(to_string(to))}};
      const Call call = whole_call(ops::kCast, {x}, attrs, {to, x.type.shape});
      // Which NaN a GPU makes of another is its own affair.
      const auto check = to == DType::kBFloat16 ? check_numbers : check_bytes;
      check(call, {});
      if (from == DType::kFloat32) check(call, {.shift = 1});
      if (from == to) check(call, {.in_place = 0});
    }
  }
}

TEST_CASE("movement of GPUs: a part that is added") {
  struct Added {
    Shape shape;
    std::int64_t dim, start, extent;
  };
  const std::vector<Added> list{
      {{5, 60, 16}, 1, 7, 20}, {{5, 60, 3}, 1, 59, 1}, {{900}, 0, 33, 400}, {{4, 40}, 1, 8, 16}};
  for (const Added& a : list) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      Shape part = a.shape;
      part[static_cast<std::size_t>(a.dim)] = a.extent;
      const Call call = whole_call(
          ops::kAddPart, {random_fractions({dtype, a.shape}), random_fractions({dtype, part})},
          {{"dim", a.dim}, {"start", a.start}}, {dtype, a.shape});
      check_placed(call);
      check_bytes(call, {.in_place = 0});
      check_bytes(call, {.shift = 1, .in_place = 0});
    }
  }
  const TensorType type{DType::kFloat32, {30, 50}};
  const Call call = whole_call(ops::kAddPart, {random_fractions(type), random_fractions(type)},
                               {{"dim", std::int64_t{0}}, {"start", std::int64_t{0}}}, type);
  check_bytes(call, {.in_place = 1});
}

TEST_CASE("indices are divided exactly") {
  std::vector<std::int64_t> divisors{(std::int64_t{1} << 31U) - 1};
  for (std::int64_t d = 1; d < 600; ++d) divisors.push_back(d);
  for (std::int64_t power = 1024; power < std::int64_t{1} << 31U; power *= 2) {
    divisors.insert(divisors.end(), {power - 1, power, power + 1, power + power / 3});
  }
  constexpr std::int64_t kLast = (std::int64_t{1} << 31U) - 1;
  std::size_t wrong = 0;
  for (const std::int64_t divisor : divisors) {
    const cuda::Divisor by = cuda::divisor_of(divisor);
    Dice dice(static_cast<std::uint64_t>(divisor));
    std::vector<std::int64_t> numbers{0, 1, divisor - 1, divisor, divisor + 1, kLast};
    for (int n = 0; n < 40; ++n) {
      const std::int64_t multiple = dice.below(static_cast<int>(kLast / divisor)) * divisor;
      numbers.insert(numbers.end(), {multiple, multiple + divisor - 1});
    }
    for (const std::int64_t number : numbers) {
      if (number > kLast) continue;
      const auto i = static_cast<std::uint32_t>(number);
      const auto high = static_cast<std::uint32_t>(std::uint64_t{i} * by.factor >> 32U);
      wrong += (high + i) >> by.shift == number / divisor ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}
