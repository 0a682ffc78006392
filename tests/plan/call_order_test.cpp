// Devices whose parts differ in size come to one order of collectives: each of them waits for the
// others in every one.
#include <doctest/doctest.h>

#include "support/calls.h"
#include "support/random_model.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

void check_order(const Job& job, std::int64_t batch) {
  const GlobalProgram program =
      compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain, batch);
  const auto first = calls_of(compile_for_device(program, job.mesh, 0, {}));
  for (int device = 1; device < job.mesh.num_devices(); ++device) {
    CAPTURE(device);
    CHECK(calls_of(compile_for_device(program, job.mesh, device, {})) == first);
  }
}

/// The last kernel is in parts of 4 and 3 columns, of which gradients are summed over `data`; norms
/// are summed over both axes.
const std::string kUneven = R"(
mesh: {data: 2, model: 2}
layout_map: {logits/kernel: [null, model], logits/bias: [model], h/output: [data, model]}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [8, 6]}, y: {normal: [8, 7]}}}}
model: {input: [6], layers: [Dense: {units: 8}, Dense: {name: h, units: 8}, Dense: {units: 8}, Dense: {name: logits, units: 7}]}
compile: {optimizer: {Adam: {clipnorm: 1.0}}, loss: mse}
fit: {batch_size: 8}
)";

}  // namespace

TEST_CASE("buckets close at the same gradient on all devices") {
  for (std::int64_t bucket = 16; bucket <= 1024; bucket += 16) {
    CAPTURE(bucket);
    Job job = job_of(kUneven, "");
    job.target.bucket = bucket;
    check_order(job, 8);
  }
}

TEST_CASE("all devices of random models come to one order of collectives") {
  for (std::uint64_t seed = 2000; seed < 2090; ++seed) {
    const RandomModel model = seed % 3 == 0   ? random_transformer(seed)
                              : seed % 3 == 1 ? random_convnet(seed)
                                              : random_model(seed);
    CAPTURE(seed);
    CAPTURE(model.mesh);
    CAPTURE(model.layouts + model.text);
    Job job = job_of(model.layouts + "mesh: {data: 1}\n" + model.text, model.mesh);
    job.target.bucket = std::int64_t{16} << seed % 7;
    job.target.small_message = std::int64_t{8} << seed % 5;
    job.target.small_copy = std::int64_t{8} << seed % 6;
    if (seed % 2 == 0) {
      job.target.fusions.insert({"horizontal", "small_gathers", "small_scatters"});
      job.target.prefetch = 200;
      job.target.launch_bytes = 300;
    }
    check_order(job, 5);
  }
}
