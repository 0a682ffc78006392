#include "job/tuned_products.h"

#include <cstdio>

#include "base/terminal.h"
#include "cli/command.h"
#include "cli/config_arguments.h"
#include "cli/rank.h"
#include "cli/training_job.h"
#include "train/fit.h"

namespace meshwork::cli {
namespace {

constexpr const char* kDetails = R"(Examples:
  meshwork tune configs/nanogpt_char.yaml --device cuda
      measures the algorithms that cuBLASLt has for each product of the steps of fit
  meshwork tune configs/gpt2.yaml --device cuda --mesh 4x1 precision=mixed_bfloat16
      for the parts that each of four devices computes; one GPU is enough
  mpirun -n 8 meshwork tune configs/bert.yaml --device cuda
      for a mesh that takes all ranks; the first one measures
  meshwork devices
      names the file, and says how many products are in it

The fastest algorithm of each product goes into a file beside the compiled kernels, one for each
kind of GPU and version of cuBLASLt, and all commands compute by it from then on; a product that is
not in it is computed as cuBLASLt's heuristics say. What is in the file is not measured again:
results stay the same, to the last bit, as long as the file does. All machines of a job need the
same one, so copy it. To be rid of it, remove it.

Let nothing else run on the GPU meanwhile.)";

void print(const MeasuredProduct& product) {
  fmt::print("{:>{}}/{}  {:9.2f} -> {:9.2f} us  {:2} algorithm{}  {}\n", product.number,
             fmt::formatted_size("{}", product.of), product.of, product.before, product.after,
             product.algorithms, product.algorithms == 1 ? " " : "s", product.text);
  std::fflush(stdout);
}

void print(const Tuning& tuning) {
  fmt::print("{} measured, {} known before\n", tuning.measured, tuning.known);
  if (tuning.step_before > 0) {
    fmt::print("those of a training step on device 0: {:.1f} -> {:.1f} us\n", tuning.step_before,
               tuning.step_after);
  }
  fmt::print("{} products in {}\n", tuning.table.count, tuning.table.file);
}

ExitCode run(const ConfigArguments& arguments) {
  config::Config config = load(arguments);
  if (launched_rank() != 0) return ExitCode::kOk;  // one GPU tells for all
  if (config.device == config::DeviceKind::kCpu) {
    fmt::print("nothing to tune: products are tuned on GPUs; say --device cuda\n");
    return ExitCode::kOk;
  }
  config.device = config::DeviceKind::kCuda;
  Job job = make_job(std::move(config), launched_devices());
  require_compile(job, "products are those of training");
  prepare_fit(job);
  const TuningWatch watch{
      .waits = [](const std::string& file) { say("waiting for another process to write " + file); },
      .measured = [](const MeasuredProduct& product) { print(product); }};
  print(tune_products(job, watch));
  return ExitCode::kOk;
}

Run add(Options& options) {
  const auto arguments = add_config_arguments(options);
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Command kTune{
    .name = "tune",
    .usage = "CONFIG [key=value ...] [options]",
    .summary =
        "measure which algorithms compute a model's products fastest on a GPU, and keep them",
    .details = kDetails,
    .add = add,
};

}  // namespace meshwork::cli
