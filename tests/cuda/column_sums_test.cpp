// Fusion groups of GPUs that add up columns, beside rows or without them.
#include <doctest/doctest.h>

#include "cuda/case_runs.h"
#include "cuda/fusion_run.h"
#include "graph/fusible.h"
#include "ops/ops.h"
#include "support/random_fusion.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

/// Adds sums of the columns of a member, and of another or an input, which have that shape.
void add_column_sums(BoundFusion& fusion, const Shape& shape, Dice& dice) {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < fusion.args.inputs.size(); ++i) {
    const TensorType& type = fusion.args.inputs[i].type;
    if (type.shape == shape && is_floating(type.dtype)) candidates.push_back(i);
  }
  const std::size_t inputs = fusion.args.inputs.size();
  std::vector<FusionGroup::Member>& members = fusion.args.members;
  for (std::size_t m = 0; m < members.size(); ++m) {
    const bool is_number = members[m].op == ops::kConstant.name;
    if (is_number) members[m].is_read = false;
    if (!is_number && members[m].output.type.shape == shape) candidates.push_back(inputs + m);
  }
  for (const std::size_t x : {dice.one_of(candidates), candidates.back()}) {
    const bool keepdims = dice.chance(50);
    Shape sums(keepdims ? shape.size() : 1, 1);
    sums.back() = shape.back();
    const bool is_wide = dice.chance(70);
    members.push_back({"reduce_sum",
                       {{"axes", axes_of_columns(shape)}, {"keepdims", keepdims}},
                       {x},
                       is_wide ? fusion.add(sums, dice) : fusion.add_narrow(sums, dice),
                       true});
  }
}

}  // namespace

TEST_CASE("groups that add up columns agree with naive kernels, twice to the same bits") {
  const auto naive = make_reference_backend();
  std::vector<const OpDef*> ops;
  for (const char* name : {"add", "relu", "subtract", "maximum", "multiply"}) {
    ops.push_back(ops::find(name));
  }
  const std::vector<Shape> shapes{{3, 16},    {700, 20},   {130, 40},   {5, 7, 384}, {9, 1500},
                                  {0, 20},    {0, 3, 20},  {17, 1023},  {1, 1, 768}, {2, 3, 4, 48},
                                  {3000, 64}, {33, 1500},  {40000, 20}, {5000, 160}, {9, 3072},
                                  {7, 4096},  {1100, 2048}};
  for (int seed = 0; seed < 51; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed));
    const Shape& shape = shapes[static_cast<std::size_t>(seed) % shapes.size()];
    BoundFusion f = dice.chance(50) ? random_rows(dice, shape, dice.between(1, 3), ops)
                                    : random_chain(dice, shape, dice.between(2, 4), ops);
    add_column_sums(f, shape, dice);
    CAPTURE(seed);
    CAPTURE(to_string(shape));
    const std::vector<HostTensor> expected = run_fusion(*naive, f.args);
    const std::vector<HostTensor> found = run_fusion(gpu_backend(), f.args);
    check_near(found, expected);
    check_same(run_fusion(gpu_backend(), f.args), found);
    check_near(run_fusion(gpu_backend(), f.args, true), expected);
  }
}
