#include "job/same_calls.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/check.h"
#include "comm/thread.h"
#include "graph/op_def.h"
#include "ops/ops.h"

using namespace meshwork;

namespace {

/// A program that starts an all-reduce for each of these layers.
DevicePlans plans_of(const std::vector<std::string>& layers) {
  Plan plan;
  for (const std::string& layer : layers) {
    CollectiveArgs args;
    args.axes = {0, 1};
    const ValueId id = plan.program.append({.op = &ops::kAllReduce,
                                            .inputs = {},
                                            .attrs = {},
                                            .type = {DType::kFloat32, {3}},
                                            .path = layer,
                                            .collective = args},
                                           whole_region({3}));
    plan.instructions.push_back({.kind = Instruction::Kind::kStart, .nodes = {id}});
  }
  DevicePlans plans;
  plans.plans.emplace(ProgramKey{ProgramKind::kTrain, 8}, std::move(plan));
  return plans;
}

/// What the second of three ranks throws where the third has these layers, and the others d1, d2.
std::string error_of(const std::vector<std::string>& of_third) {
  std::string error;
  run_devices(3, [&](World& world) {
    const int rank = world.hosts->rank();
    try {
      check_same_calls(plans_of(rank == 2 ? of_third : std::vector<std::string>{"d1", "d2"}),
                       *world.hosts);
    } catch (const CheckFailure& failure) {
      if (rank == 1) error = failure.what();
    }
  });
  return error;
}

}  // namespace

TEST_CASE("ranks that would come to other collectives say so at the start") {
  CHECK(error_of({"d1", "d2"}).empty());
  const std::string other = error_of({"d2", "d1"});
  CHECK(
      other.find("collectives of ranks 0 (here) and 2 (there) differ: 'all_reduce of d1 over axes "
                 "0 1, float32, program 1 of 8' here, 'all_reduce of d2 over axes 0 1") !=
      std::string::npos);
  CHECK(error_of({"d1"}).find("'all_reduce of d2 over axes 0 1, float32, program 1 of 8' here, "
                              "'none' there") != std::string::npos);
}
