// Fusion groups of GPUs: one kernel each, with the bits of the CPU's passes.
#include <doctest/doctest.h>

#include <algorithm>

#include "backend/cuda/elementwise/fused_kernel.h"
#include "base/bfloat16.h"
#include "base/float16.h"
#include "cuda/case_runs.h"
#include "cuda/fusion_run.h"
#include "device/cuda/stream.h"
#include "ops/ops.h"
#include "support/random_fusion.h"
#include "support/shared_case.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

/// Those that give the same bits on processors.
std::vector<const OpDef*> exact_ops() {
  std::vector<const OpDef*> found = fusion_ops();
  std::erase_if(found, [](const OpDef* op) { return rounds_otherwise(op->name); });
  return found;
}

/// With the number of the new member.
std::size_t add_member(BoundFusion& fusion, std::string_view op, std::vector<std::size_t> operands,
                       const TensorView& output, bool is_read) {
  fusion.args.members.push_back({op, {}, std::move(operands), output, is_read});
  return fusion.args.inputs.size() + fusion.args.members.size() - 1;
}

/// Adam's update of w with the gradient g, in place: w, m, v, g and four scalars. The gradient may
/// be of bfloat16.
BoundFusion adam(const Shape& shape, bool narrow = false) {
  Dice dice(1);
  BoundFusion f;
  f.memory.reserve(40);
  for (int i = 0; i < 3; ++i) f.args.inputs.push_back(f.add(shape, dice));
  for (std::size_t i = 0; i < f.memory[2].size(); ++i) f.memory[2][i] = std::abs(f.memory[2][i]);
  f.args.inputs.push_back(narrow ? f.add_narrow(shape, dice) : f.add(shape, dice));
  for (int i = 0; i < 4; ++i) f.args.inputs.push_back(f.add({}, dice));
  for (const std::size_t i : {4U, 5U, 6U, 7U}) f.memory[i][0] = 0.1F / static_cast<float>(i);
  const auto add = [&](std::string_view op, std::vector<std::size_t> operands) {
    return add_member(f, op, std::move(operands), f.add(shape, dice), false);
  };
  const auto put = [&](std::string_view op, std::vector<std::size_t> operands, std::size_t input) {
    return add_member(f, op, std::move(operands), f.args.inputs[input], true);
  };
  const std::size_t g = narrow ? add("cast", {3}) : 3;
  const std::size_t m = put("add", {add("multiply", {add("subtract", {g, 1}), 4}), 1}, 1);
  const std::size_t square = add("square", {g});
  const std::size_t v = put("add", {add("multiply", {add("subtract", {square, 2}), 5}), 2}, 2);
  const std::size_t root = add("add", {add("sqrt", {v}), 7});
  put("subtract", {0, add("divide", {add("multiply", {m, 6}), root})}, 0);
  return f;
}

/// relu(x b + r) of bfloat16, computed in float32, with b of the columns and r of the rows.
BoundFusion narrow_chain(const Shape& shape) {
  Dice dice(2);
  BoundFusion f;
  f.memory.reserve(20);
  Shape rows = shape;
  rows.back() = 1;
  f.args.inputs = {f.add_narrow(shape, dice), f.add({shape.back()}, dice), f.add(rows, dice)};
  const auto add = [&](std::string_view op, std::vector<std::size_t> operands) {
    return add_member(f, op, std::move(operands), f.add(shape, dice), false);
  };
  const std::size_t sum = add("add", {add("multiply", {add("cast", {0}), 1}), 2});
  add_member(f, "cast", {add("relu", {sum})}, f.add_narrow(shape, dice), true);
  return f;
}

/// What is of bfloat16 becomes float16: small numbers of few digits, which both hold.
void turn_to_float16(BoundFusion& f) {
  const auto turn = [](TensorView& view) {
    if (view.type.dtype != DType::kBFloat16) return;
    view.type.dtype = DType::kFloat16;
    for (std::int64_t i = 0; i < num_elements(view.type.shape); ++i) {
      const float number = view.as<BFloat16>()[i];
      view.as<Float16>()[i] = Float16(number);
    }
  };
  std::for_each(f.args.inputs.begin(), f.args.inputs.end(), turn);
  for (FusionGroup::Member& member : f.args.members) turn(member.output);
}

}  // namespace

TEST_CASE("fusion groups give the bits of the CPU's passes") {
  const auto cpu = make_cpu_backend(1);
  const std::vector<Shape> shapes{
      {},        {1},       {7},       {64},          {3, 4}, {130, 10}, {33, 48},   {5, 7, 12},
      {1000, 1}, {2, 4096}, {9, 1500}, {4, 9, 9, 12}, {0, 5}, {4, 0},    {17, 1023}, {66000}};
  for (int seed = 0; seed < 48; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed));
    const Shape& shape = shapes[static_cast<std::size_t>(seed) % shapes.size()];
    const BoundFusion f = random_chain(dice, shape, dice.between(2, 12), exact_ops());
    if (f.args.members.empty()) continue;
    CAPTURE(seed);
    CAPTURE(to_string(shape));
    const std::vector<HostTensor> expected = run_fusion(*cpu, f.args);
    check_same(run_fusion(gpu_backend(), f.args), expected);
    check_same(run_fusion(gpu_backend(), f.args, true), expected);
  }
}

TEST_CASE("groups of functions of which a GPU has its own bits are near the CPU's") {
  const auto cpu = make_cpu_backend(1);
  std::vector<const OpDef*> ops;
  for (const char* name : {"add", "erf", "multiply", "sigmoid", "softplus", "tanh"}) {
    ops.push_back(ops::find(name));
  }
  for (int seed = 0; seed < 24; ++seed) {
    CAPTURE(seed);
    Dice dice(static_cast<std::uint64_t>(seed));
    const BoundFusion f = random_chain(dice, {33, 48}, dice.between(2, 12), ops);
    const std::vector<HostTensor> expected = run_fusion(*cpu, f.args);
    check_near(run_fusion(gpu_backend(), f.args), expected);
    check_near(run_fusion(gpu_backend(), f.args, true), expected);
  }
}

TEST_CASE("groups that add up rows agree with the CPU's, twice to the same bits") {
  const auto cpu = make_cpu_backend(1);
  std::vector<const OpDef*> ops;
  for (const char* name : {"add", "relu", "subtract", "maximum", "multiply"}) {
    ops.push_back(ops::find(name));
  }
  const std::vector<Shape> shapes{{3, 16},     {64},          {1, 20},     {130, 40},
                                  {5, 7, 384}, {1, 9000},     {9, 1500},   {0, 20},
                                  {17, 1023},  {2, 3, 4, 48}, {1, 1, 768}, {33, 2100}};
  for (int seed = 0; seed < 36; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed));
    const Shape& shape = shapes[static_cast<std::size_t>(seed) % shapes.size()];
    const BoundFusion f = random_rows(dice, shape, dice.between(1, 3), ops);
    CAPTURE(seed);
    CAPTURE(to_string(shape));
    const std::vector<HostTensor> expected = run_fusion(*cpu, f.args);
    const std::vector<HostTensor> found = run_fusion(gpu_backend(), f.args);
    check_near(found, expected);
    check_same(run_fusion(gpu_backend(), f.args), found);
    check_near(run_fusion(gpu_backend(), f.args, true), expected);
  }
}

TEST_CASE(
    "what is normalized may take the place of what was, and sums that of what their rows have") {
  const auto cpu = make_cpu_backend(1);
  const Shape shape{37, 96}, rows{37, 1};
  Dice dice(3);
  BoundFusion f;
  f.memory.reserve(20);
  f.args.inputs = {f.add(shape, dice), f.add(rows, dice)};
  const Attrs along{{"axes", Shape{1}}, {"keepdims", true}};
  const std::size_t sum = add_member(f, "reduce_sum", {0}, f.add(rows, dice), false);
  f.args.members.back().attrs = along;
  const std::size_t scaled = add_member(f, "multiply", {sum, 1}, f.add(rows, dice), false);
  add_member(f, "subtract", {0, scaled}, f.args.inputs[0], true);
  add_member(f, "add", {1, 1}, f.args.inputs[1], true);
  const std::vector<HostTensor> expected = run_fusion(*cpu, f.args);
  check_near(run_fusion(gpu_backend(), f.args), expected);
  check_near(run_fusion(gpu_backend(), f.args, true), expected);
}

TEST_CASE("results may take the places of inputs that no later member reads") {
  const auto cpu = make_cpu_backend(1);
  for (const Shape& shape : {Shape{1}, Shape{10}, Shape{3, 5, 7}, Shape{300, 100}}) {
    for (const bool narrow : {false, true}) {
      const BoundFusion f = adam(shape, narrow);
      const std::vector<HostTensor> expected = run_fusion(*cpu, f.args);
      check_same(run_fusion(gpu_backend(), f.args), expected);
      check_same(run_fusion(gpu_backend(), f.args, true), expected);
    }
  }
}

TEST_CASE("fusion groups of bfloat16 give the bits of the CPU's passes") {
  const auto cpu = make_cpu_backend(1);
  for (const Shape& shape : {Shape{5, 7}, Shape{40, 24}, Shape{6, 20, 32}, Shape{33, 2001}}) {
    const BoundFusion f = narrow_chain(shape);
    const std::vector<HostTensor> expected = run_fusion(*cpu, f.args);
    check_same(run_fusion(gpu_backend(), f.args), expected);
    check_same(run_fusion(gpu_backend(), f.args, true), expected);
  }
}

TEST_CASE("fusion groups of float16 give the bits of the same numbers in float32, rounded") {
  const auto cpu = make_cpu_backend(1);
  for (const Shape& shape : {Shape{5, 7}, Shape{40, 24}, Shape{33, 2001}}) {
    for (const bool shifted : {false, true}) {
      BoundFusion update = adam(shape, true);
      const std::vector<HostTensor> updated = run_fusion(*cpu, update.args);
      turn_to_float16(update);
      check_same(run_fusion(gpu_backend(), update.args, shifted), updated);

      BoundFusion chain = narrow_chain(shape);
      std::vector<FusionGroup::Member>& members = chain.args.members;
      members[members.size() - 2].is_read = true;
      std::vector<HostTensor> results = run_fusion(*cpu, chain.args);
      results.back() = in_dtype(results.front(), DType::kFloat16);
      turn_to_float16(chain);
      check_same(run_fusion(gpu_backend(), chain.args, shifted), results);
    }
  }
}

namespace {

/// Each pass alone, one after the other.
std::vector<HostTensor> one_by_one(const std::vector<FusionGroup>& passes, bool shifted) {
  std::vector<HostTensor> results;
  for (const FusionGroup& pass : passes) {
    for (HostTensor& result : run_fusion(gpu_backend(), pass, shifted)) {
      results.push_back(std::move(result));
    }
  }
  return results;
}

void check_side_by_side(const std::vector<BoundFusion>& fusions) {
  std::vector<FusionGroup> passes;
  for (const BoundFusion& fusion : fusions) passes.push_back(fusion.args);
  for (const bool shifted : {false, true}) {
    check_same(run_passes(gpu_backend(), passes, shifted), one_by_one(passes, shifted));
  }
}

}  // namespace

TEST_CASE("passes side by side give the bits of each alone, whatever their sizes") {
  for (const bool narrow : {false, true}) {
    std::vector<BoundFusion> updates;
    for (const Shape& shape : {Shape{1}, Shape{10}, Shape{3, 5, 7}, Shape{0, 4}, Shape{300, 100},
                               Shape{}, Shape{64}, Shape{513, 9}}) {
      updates.push_back(adam(shape, narrow));
    }
    check_side_by_side(updates);
  }
}

TEST_CASE("more passes than the parameters of a kernel hold take several launches") {
  std::vector<BoundFusion> updates;
  for (std::int64_t i = 0; i < 300; ++i) updates.push_back(adam({i % 7 + 1}));
  check_side_by_side(updates);
}

TEST_CASE("passes that differ in more than shapes and numbers run side by side, too") {
  for (int seed = 0; seed < 6; ++seed) {
    std::vector<BoundFusion> fusions;
    for (const Shape& shape : {Shape{33, 48}, Shape{5, 7}, Shape{2, 3, 5}}) {
      fusions.push_back(narrow_chain(shape));
    }
    for (const Shape& shape : {Shape{7}, Shape{33, 48}, Shape{1000, 1}, Shape{5, 7, 12}}) {
      Dice dice(static_cast<std::uint64_t>(seed));  // the same ops for each shape
      BoundFusion chain = random_chain(dice, shape, 5, exact_ops());
      if (!chain.args.members.empty()) fusions.push_back(std::move(chain));
      fusions.push_back(random_rows(dice, shape.back() < 2 ? Shape{3, 16} : shape, 2,
                                    {ops::find("add"), ops::find("multiply")}));
    }
    CAPTURE(seed);
    check_side_by_side(fusions);
  }
}

TEST_CASE("numbers are parameters: passes that differ in them are one kernel") {
  const auto scaled = [](double number, const Shape& shape) {
    Dice dice(1);
    BoundFusion f;
    f.memory.reserve(10);
    f.args.inputs = {f.add(shape, dice)};
    const std::size_t by = add_member(f, "constant", {}, f.add({}, dice), false);
    f.args.members.back().attrs = {
        {"value", number}, {"dtype", std::string("float32")}, {"shape", Shape{}}};
    add_member(f, "multiply", {0, by}, f.add(shape, dice), true);
    return f;
  };
  const cuda::FusedKernel kernel = cuda::fused_kernel(scaled(0.1, {5}).args);
  const cuda::FusedKernel other = cuda::fused_kernel(scaled(-3, {4, 9}).args);
  CHECK(kernel.source.text == other.source.text);
  CHECK(kernel.source.defines == other.source.defines);
  CHECK(kernel.source.name == "fused_multiply");
  const BoundFusion small = scaled(0.1, {5}), large = scaled(-3, {40, 9});
  const std::vector<FusionGroup> passes{small.args, large.args};
  const std::vector<HostTensor> found = run_passes(gpu_backend(), passes);
  const auto cpu = make_cpu_backend(1);
  check_same({found[0]}, run_fusion(*cpu, small.args));
  check_same({found[1]}, run_fusion(*cpu, large.args));
}

TEST_CASE("indices of 64 bits find the same elements") {
  const auto bind = [](const FusionGroup& args, Stream& stream) {
    cuda::FusedKernel kernel = cuda::fused_kernel(args);
    std::string& defines = kernel.source.defines;
    defines.replace(defines.find("Index uint32"), 12, "Index uint64");
    return cuda::launch_of({&kernel, 1}, cuda::cuda_stream(stream));
  };
  const auto cpu = make_cpu_backend(1);
  for (const Shape& shape : {Shape{5, 7}, Shape{40, 24}, Shape{300, 100}}) {
    const BoundFusion f = narrow_chain(shape);
    check_same(run_fusion(gpu_backend(), f.args, false, bind), run_fusion(*cpu, f.args));
  }
  FusionGroup huge = narrow_chain({1, 1}).args;
  for (TensorView& input : huge.inputs) input.type.shape = {1 << 16, 1 << 16};
  for (FusionGroup::Member& member : huge.members) member.output.type.shape = {1 << 16, 1 << 16};
  CHECK(cuda::fused_kernel(huge).source.defines.find("Index uint64") != std::string::npos);
}

TEST_CASE("the kernel of an update is the same whatever the shape") {
  const auto source = [](const Shape& shape) {
    return cuda::fused_kernel(adam(shape).args).source;
  };
  for (const Shape& shape : {Shape{1}, Shape{10}, Shape{3, 1, 7}, Shape{512, 40}}) {
    CHECK(source(shape).text == source({64}).text);
    CHECK(source(shape).defines == source({64}).defines);
  }
  CHECK(cuda::fused_kernel(narrow_chain({4, 8}).args).source.text ==
        cuda::fused_kernel(narrow_chain({2, 3, 5}).args).source.text);
}
