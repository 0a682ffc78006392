// What GPT-2 with 124 M parameters takes to train (configs/gpt2.yaml), as planned.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "compile.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr std::int64_t kParameters = 124439808;

/// A step over one sequence of 1,024 tokens for each position of the axis data. What the devices
/// hold, of each the most.
MemoryUse use_of(const std::vector<std::string>& keys, const std::string& mesh, int batch) {
  const std::string tokens = fmt::format("{{integers: [{}, 1024], below: 50257}}", batch);
  std::vector<std::string> assignments{
      fmt::format("dataset={{name: t, format: synthetic, splits: {{train: {{x: {0}, y: {0}}}, "
                  "validation: {{x: {0}, y: {0}}}}}}}",
                  tokens),
      fmt::format("fit.batch_size={}", batch), "fit.steps_per_epoch=1"};
  assignments.insert(assignments.end(), keys.begin(), keys.end());
  const Job job = make_job(
      config::load_config("configs/gpt2.yaml", {.mesh = mesh, .assignments = assignments}), 0);
  const GlobalProgram program =
      compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain, batch);
  MemoryUse most;
  for (const int device : {0, job.mesh.num_devices() - 1}) {
    const MemoryUse use =
        memory_use(compile_for_device(program, job.mesh, device, memory_query(job)));
    most.weights = std::max(most.weights, use.weights);
    most.optimizer = std::max(most.optimizer, use.optimizer);
    most.step = std::max(most.step, use.step);
  }
  return most;
}

const std::string kPlain = "compile.optimizer={AdamW: {weight_decay: 0.1}}";
const std::string kClipped = "compile.optimizer={AdamW: {weight_decay: 0.1, global_clipnorm: 1.0}}";

}  // namespace

TEST_CASE(
    "GPT-2 trains a step over 1,024 tokens in 2.35 GB, whether gradients are clipped or not") {
  for (const std::string& optimizer : {kPlain, kClipped}) {
    CAPTURE(optimizer);
    const MemoryUse use = use_of({optimizer}, "1x1", 1);
    CHECK(use.weights == 4 * kParameters);
    CHECK(use.optimizer < 8.01 * kParameters);
    CHECK(use.bytes() < 2350000000);
  }
}

TEST_CASE("of four devices each holds a quarter of GPT-2's weights and of the optimizer's state") {
  struct Layouts {
    std::string mesh;
    std::vector<std::string> keys;
    int batch;
    double share;  ///< of a device, four of which hold all
  };
  // Megatron's layouts leave whole what is no matrix, and the positions.
  const std::vector<Layouts> all{
      {"1x4", {kPlain}, 1, 1.025},
      {"4x1", {kPlain, "layout_map={'.*/(kernel|bias|embeddings|gamma|beta)': [data]}"}, 4, 1.002}};
  for (const Layouts& layouts : all) {
    CAPTURE(layouts.mesh);
    const MemoryUse use = use_of(layouts.keys, layouts.mesh, layouts.batch);
    CHECK(static_cast<double>(use.weights) <= layouts.share * kParameters);
    CHECK(static_cast<double>(use.optimizer) <= layouts.share * 2 * kParameters);
  }
}
