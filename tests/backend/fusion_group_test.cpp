// Fusion groups of elementwise ops in one pass against the same, op by op.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "backend/backend.h"
#include "backend/cpu/fusion_steps.h"
#include "base/bfloat16.h"
#include "base/check.h"
#include "graph/op_def.h"
#include "support/random_fusion.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

template <class Visit>
void with_floats(DType dtype, const Visit& visit) {
  dtype == DType::kBFloat16 ? visit(BFloat16(0.0F)) : visit(0.0F);
}

std::vector<float> run(const BoundFusion& fusion, bool in_one_pass, int threads) {
  const auto backend = make_cpu_backend(threads);
  FusionGroup args = fusion.args;
  const auto stream = backend->device().make_stream();
  const std::int64_t bytes =
      in_one_pass ? backend->fusion_workspace(args) : members_workspace(*backend, args);
  const auto workspace = backend->device().allocate(bytes);
  args.workspace = workspace.get();
  const Launch launch =
      in_one_pass ? backend->bind_fusion(args, *stream) : bind_members(*backend, args, *stream);
  std::vector<float> results;
  for (int repeat = 0; repeat < 2; ++repeat) {
    launch();
    for (const FusionGroup::Member& member : args.members) {
      if (!member.is_read) continue;
      const std::int64_t count = num_elements(member.output.type.shape);
      with_floats(member.output.type.dtype, [&](auto type) {
        auto* y = member.output.as<decltype(type)>();
        results.insert(results.end(), y, y + count);
        std::fill_n(y, count, decltype(type)(-1.0F));
      });
    }
  }
  return results;
}

}  // namespace

TEST_CASE("every elementwise op has a step in fusions") {
  for (const OpDef* op : fusion_ops()) {
    CAPTURE(op->name);
    const bool found = cpu::find_fusion_step(op->name) != nullptr;
    CHECK(found);
  }
  for (const auto& [from, to] :
       {std::pair(DType::kFloat32, DType::kBFloat16), std::pair(DType::kBFloat16, DType::kFloat32),
        std::pair(DType::kInt32, DType::kFloat32), std::pair(DType::kInt64, DType::kFloat32)}) {
    const bool casts = cpu::find_fusion_step("cast", from, to) != nullptr;
    const bool adds = cpu::find_fusion_step("add", from, to) != nullptr;
    CHECK(casts);
    CHECK(!adds);
  }
  const bool is_member = cpu::find_fusion_step("einsum") != nullptr;
  CHECK(!is_member);
}

namespace {

/// The bits of a group in one pass, on one thread and on two, are those of its members one by one.
void check_bits(const BoundFusion& fusion) {
  const std::vector<float> expected = run(fusion, false, 1);
  for (const int threads : {1, 2}) {
    const std::vector<float> found = run(fusion, true, threads);
    REQUIRE(found.size() == expected.size());
    std::size_t different = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const bool both_nan = std::isnan(found[i]) && std::isnan(expected[i]);
      const bool same =
          std::bit_cast<std::uint32_t>(found[i]) == std::bit_cast<std::uint32_t>(expected[i]);
      different += both_nan || same ? 0 : 1;
    }
    CHECK(different == 0);
  }
}

}  // namespace

TEST_CASE("fusions give the bits that their ops give one by one, whatever the threads") {
  const std::vector<Shape> shapes{{},        {1},       {7},        {64},
                                  {3, 4},    {130, 10}, {33, 48},   {5, 7, 12},
                                  {1000, 1}, {2, 4096}, {9, 1500},  {8, 28, 28, 12},
                                  {0, 5},    {4, 0},    {17, 1023}, {66000}};
  for (int seed = 0; seed < 160; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed));
    const Shape& shape = shapes[static_cast<std::size_t>(seed) % shapes.size()];
    const BoundFusion fusion = random_chain(dice, shape, dice.between(2, 12), fusion_ops());
    if (fusion.args.members.empty()) continue;
    CAPTURE(seed);
    CAPTURE(to_string(shape));
    check_bits(fusion);
  }
}

TEST_CASE("so do those that add up rows") {
  const std::vector<Shape> shapes{{3, 16},     {64},       {1, 1},      {130, 40},
                                  {5, 7, 384}, {2, 4096},  {9, 1500},   {0, 20},
                                  {0, 3, 30},  {17, 1023}, {40, 28, 2}, {66, 1000}};
  for (int seed = 0; seed < 120; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed));
    const Shape& shape = shapes[static_cast<std::size_t>(seed) % shapes.size()];
    const BoundFusion fusion = random_rows(dice, shape, dice.between(1, 8), fusion_ops());
    CAPTURE(seed);
    CAPTURE(to_string(shape));
    check_bits(fusion);
  }
}

TEST_CASE("the result of a member may take the place of an input that no later member reads") {
  Dice dice(7);
  BoundFusion fusion;
  fusion.memory.reserve(10);
  const Shape shape{300, 11};
  for (int i = 0; i < 2; ++i) fusion.args.inputs.push_back(fusion.add(shape, dice));
  const std::vector<float> a = fusion.memory[0], b = fusion.memory[1];
  fusion.args.members.push_back({"multiply", {}, {0, 1}, fusion.add(shape, dice), false});
  fusion.args.members.push_back({"add", {}, {0, 2}, fusion.args.inputs[0], true});
  fusion.args.members.push_back({"subtract", {}, {3, 1}, fusion.args.inputs[1], true});
  const auto backend = make_cpu_backend(1);
  const auto workspace = backend->device().allocate(backend->fusion_workspace(fusion.args));
  fusion.args.workspace = workspace.get();
  backend->bind_fusion(fusion.args, *backend->device().make_stream())();
  bool right = true;
  for (std::size_t i = 0; i + 1 < a.size(); ++i) {
    const float sum = a[i] + a[i] * b[i];
    right = right && fusion.memory[0][i] == sum && fusion.memory[1][i] == sum - b[i];
  }
  CHECK(right);
  CHECK(fusion.memory[0].back() == a.back());
}

namespace {

/// y = (x w) d + e of [m, n], x [m, k] or [k, m]: e, one row, is broadcast.
BoundFusion product_chain(Dice& dice, std::int64_t m, std::int64_t n, std::int64_t k,
                          bool transposed) {
  BoundFusion fusion;
  fusion.memory.reserve(10);
  const Shape x = transposed ? Shape{k, m} : Shape{m, k};
  for (const Shape& shape : {x, Shape{k, n}, Shape{m, n}, Shape{n}}) {
    fusion.args.inputs.push_back(fusion.add(shape, dice));
  }
  const std::string equation = transposed ? "k m, k n -> m n" : "m k, k n -> m n";
  fusion.args.members.push_back(
      {"einsum", {{"equation", equation}}, {0, 1}, fusion.add({m, n}, dice), false});
  fusion.args.members.push_back({"multiply", {}, {4, 2}, fusion.add({m, n}, dice), true});
  fusion.args.members.push_back({"add", {}, {5, 3}, fusion.add({m, n}, dice), true});
  return fusion;
}

}  // namespace

TEST_CASE("a product is computed rows at a time, with the same bits whatever the threads") {
  const std::vector<std::array<std::int64_t, 3>> extents{
      {784, 128, 128}, {1000, 100, 7}, {1, 70000, 3}, {333, 256, 64}, {97, 1023, 1}, {0, 5, 2}};
  for (const auto& each : extents) {
    const std::int64_t m = each[0], n = each[1], k = each[2];
    for (const bool transposed : {false, true}) {
      CAPTURE(m);
      CAPTURE(transposed);
      Dice dice(static_cast<std::uint64_t>(m + n));
      const BoundFusion fusion = product_chain(dice, m, n, k, transposed);
      FusionGroup args = fusion.args;
      const auto reference = make_reference_backend();
      const auto workspace = reference->device().allocate(reference->fusion_workspace(args));
      args.workspace = workspace.get();
      reference->bind_fusion(args, *reference->device().make_stream())();
      std::vector<float> expected;
      for (const FusionGroup::Member& member : args.members) {
        if (!member.is_read) continue;
        const float* y = member.output.as<float>();
        expected.insert(expected.end(), y, y + num_elements(member.output.type.shape));
      }
      const std::vector<float> one = run(fusion, true, 1);  // twice
      REQUIRE(one.size() == 2 * expected.size());
      double worst = 0;
      for (std::size_t i = 0; i < one.size(); ++i) {
        const double right = expected[i % expected.size()];
        worst = std::max(worst, std::abs(one[i] - right) / std::max(1.0, std::abs(right)));
      }
      CHECK(worst < 1e-5);
      for (const int threads : {2, 3, 8}) CHECK(run(fusion, true, threads) == one);
    }
  }
}

namespace {

/// y = g - d, of the gradient g [m, n] of rows `first` on of a table whose numbers of rows,
/// `index`, lie around them.
BoundFusion table_chain(Dice& dice, std::int64_t m, std::int64_t n, std::int64_t positions,
                        std::int64_t first, bool narrow) {
  BoundFusion fusion;
  fusion.memory.reserve(10);
  TensorView dy = fusion.add({positions, n}, dice);
  if (narrow) {
    const std::vector<float> from(dy.as<float>(), dy.as<float>() + positions * n);
    std::transform(from.begin(), from.end(), dy.as<BFloat16>(),
                   [](float x) { return BFloat16(x); });
    dy.type.dtype = DType::kBFloat16;
  }
  TensorView index = fusion.add({positions}, dice);
  index.type.dtype = DType::kInt32;
  const int last = static_cast<int>(first + m);
  for (std::int64_t i = 0; i < positions; ++i) {
    index.as<std::int32_t>()[i] = dice.between(static_cast<int>(first) - 2, last + 2);
  }
  fusion.args.inputs = {dy, index, fusion.add({m, n}, dice)};
  TensorView gradient = fusion.add({m, n}, dice);
  gradient.region = {{first + m + 5, n}, {first, 0}};
  fusion.args.members.push_back(
      {"embedding_gradient", {{"rows", first + m + 5}}, {0, 1}, gradient, false});
  fusion.args.members.push_back({"subtract", {}, {3, 2}, fusion.add({m, n}, dice), true});
  return fusion;
}

}  // namespace

TEST_CASE("the gradient of a table is computed rows at a time, with the bits of the whole one") {
  const std::vector<std::array<std::int64_t, 3>> extents{
      {5000, 64, 300}, {20, 3000, 500}, {3000, 100, 0}, {1, 7, 40}, {777, 33, 5000}, {0, 64, 9}};
  for (const auto& each : extents) {
    for (const bool narrow : {false, true}) {
      for (const std::int64_t first : {0, 11}) {
        CAPTURE(each[0]);
        CAPTURE(narrow);
        Dice dice(static_cast<std::uint64_t>(each[0] + each[2]));
        const BoundFusion fusion = table_chain(dice, each[0], each[1], each[2], first, narrow);
        const std::vector<float> whole = run(fusion, false, 1);
        for (const int threads : {1, 2, 3}) CHECK(run(fusion, true, threads) == whole);
      }
    }
  }
}

TEST_CASE("a group has as many members as its kind, which read what is there before them") {
  using Kind = FusionGroup::Kind;
  const TensorView x{{DType::kFloat32, {3}}, whole_region({3})};
  const FusionGroup::Member of_input{"relu", {}, {0}, x}, of_first{"relu", {}, {1}, x};
  const auto fits = [&](Kind kind, std::vector<FusionGroup::Member> members) {
    try {
      check_kind({.kind = kind, .inputs = {x}, .members = std::move(members)});
      return true;
    } catch (const CheckFailure&) {
      return false;
    }
  };
  CHECK(fits(Kind::kPass, {of_input, of_first}));
  CHECK_FALSE(fits(Kind::kPass, {}));
  CHECK_FALSE(fits(Kind::kPass, {of_first}));
  CHECK(fits(Kind::kSiblings, {of_input, of_input}));
  CHECK_FALSE(fits(Kind::kSiblings, {of_input}));
  CHECK_FALSE(fits(Kind::kSiblings, {of_input, of_first}));
  CHECK(fits(Kind::kNode, {of_input}));
  CHECK_FALSE(fits(Kind::kNode, {of_input, of_input}));
}
