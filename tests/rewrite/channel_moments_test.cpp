#include <doctest/doctest.h>

#include "rewrite/program.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr const char* kModel = R"(
batch_axis: data
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [8, 4, 6]}, y: {normal: [8, 4, 2]}}}}
model: {input: [4, 6], layers: [BatchNormalization: {name: norm}, Dense: {name: down, units: 2}]}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 8}
)";

/// For a device that can take moments by one pass.
Graph rewritten_for_moments(const std::string& text) {
  Job job = job_of(text, "");
  job.target.fusions.insert({"channel_moments", "scaled_sum"});
  job.target.kernels.insert({"channel_moments", "scaled_sum"});
  return rewritten(job);
}

const std::string kAlone = std::string(kModel) + "mesh: {data: 1}\n";

}  // namespace

TEST_CASE("a batch normalization on one device reads what it normalizes once for its statistics") {
  const Graph program = rewritten_for_moments(kAlone);
  CHECK(count(program, "channel_moments") == 1);
  CHECK(count(program, "shifted_sums") == 0);
  CHECK(count(program, "scale_offset") == count(rewritten(kAlone), "scale_offset"));
}

TEST_CASE("moments are taken by one pass only where nothing else is asked for") {
  for (const std::string& other :
       {std::string(kModel) + "mesh: {data: 2}\n", kAlone + "fusion: {channel_moments: false}\n"}) {
    const Graph program = rewritten_for_moments(other);
    CHECK(count(program, "channel_moments") == 0);
    CHECK(count(program, "shifted_sums") == 1);
  }
  CHECK(count(rewritten(kAlone), "channel_moments") == 0);
}
