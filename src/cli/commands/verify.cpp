#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/join.h"
#include "cli/command.h"
#include "cli/config_arguments.h"
#include "cli/rank.h"
#include "cli/training_job.h"
#include "train/compare_recordings.h"
#include "train/evaluate.h"

namespace meshwork::cli {
namespace {

constexpr const char* kDetails = R"(Examples:
  meshwork verify configs/fashion_mnist.yaml
      five training steps on the mesh of the file, and five on one device
  meshwork verify configs/keras_guide.yaml --mesh 2x4 --against 8x1 --steps 20
  meshwork verify configs/gpt2.yaml --mesh 2x2 --from runs/gpt2 precision=mixed_bfloat16
      from trained weights
  meshwork verify configs/resnet.yaml --device cuda --against-device cpu
  meshwork verify configs/uneven.yaml --mesh 3x2 --against 3x2 --tolerance 0
      whether a mesh repeats its bits

Trains from the same weights on the same batches, and compares the loss, the weights and the
optimizer's state after each step. All devices are threads of this process, whose numbers are those
of ranks to the last bit. Nothing is written.

Meshes add up in different orders, so that the last digits differ, and where a gradient is nothing
but rounding an optimizer may make whole steps of it. So a third run, on the other mesh, begins with
weights that are disturbed by some of their last digits: a difference counts that is beyond the
tolerance and beyond 32 times what comes of that ("disturbed"). Where some do, three more runs are
disturbed otherwise before they count. Differences are parts of the greatest magnitude in a tensor;
of one of more than 8,192 elements so many are compared, evenly spread.

memory_limit holds for the mesh of the file, not for the other.

The exit code is 0 where the two agree, and 5 where they differ; the last line is for scripts:
verify same loss_difference=3.1e-07, or
verify differs step=1 tensor=hidden_1/kernel difference=0.012)";

/// What rounding does to a few small tensors differs from one disturbance to the next.
constexpr std::size_t kMostDisturbed = 4;

struct VerifyArguments {
  std::shared_ptr<ConfigArguments> config;
  std::string against, against_device, from;
  std::int64_t steps = 5;
  std::optional<double> tolerance;
};

/// One device along every axis.
std::string one_device(const Mesh& mesh) {
  std::vector<std::string> axes;
  for (const auto& [name, size] : stated_axes(mesh)) axes.push_back(name + "=1");
  return join(axes, ",");
}

Job job_of(const ConfigArguments& arguments, bool is_reference) {
  config::Config config = load(arguments);
  if (is_reference) config.memory_limit.reset();  // what is checked need not fit on fewer devices
  Job job = make_job(config, 0);
  require_compile(job, "it names optimizer, loss and metrics");
  prepare_recording(job);
  return job;
}

/// How much weights are disturbed: by what long sums in another order may differ, 64 times the last
/// digit of float32; in 16 bits by a part of the last digit, for weights are rounded to the same on
/// all meshes, and only some sums are not.
double disturbance(const Job& job) {
  switch (compute_dtype(job.config.precision)) {
    case DType::kBFloat16:
      return 0x1p-12;
    case DType::kFloat16:
      return 0x1p-15;
    default:
      return 0x1p-17;
  }
}

double default_tolerance(const Job& job) {
  return compute_dtype(job.config.precision) == DType::kFloat32 ? 1e-5 : 1e-2;
}

std::string name_of(const Job& job, const VerifyArguments& arguments) {
  const std::string device = is_on_gpus(job) ? " on cuda" : " on cpu";
  return to_string(job.mesh) + (arguments.against_device.empty() ? "" : device);
}

void print(const RecordingComparison& comparison, double tolerance) {
  std::size_t width = std::string_view("farthest tensor").size();
  for (const StepComparison& step : comparison.steps) {
    width = std::max(width, step.tensor.path.size());
  }
  const auto show = [&](const Distance& distance) {
    return fmt::format("{:10.1e}{} {:9.1e}", distance.difference,
                       distance.is_within(tolerance) ? ' ' : '!', distance.disturbed);
  };
  constexpr const char* kColumns = "difference  disturbed";
  fmt::print(" step  {:<25}  {}  {:<{}}  {}\n", "loss", kColumns, "farthest tensor", width,
             kColumns);
  int number = 0;
  for (const StepComparison& step : comparison.steps) {
    fmt::print("{:5}  {:<12.9g} {:<12.9g}  {}  {:<{}}  {}\n", ++number, step.left_loss,
               step.right_loss, show(step.loss), step.tensor.path, width,
               show(step.tensor.distance));
  }
}

/// What is beyond the tolerance in the first step that has such.
void print_difference(const RecordingComparison& comparison, double tolerance) {
  const auto step = std::ranges::find(comparison.steps, false, &StepComparison::agrees);
  const auto number = step - comparison.steps.begin() + 1;
  const TensorDistance& tensor = step->tensor;
  const bool is_loss = tensor.distance.is_within(tolerance);
  fmt::print("they differ from step {} on: {} {:.9g} and {:.9g}\n", number,
             is_loss ? "the loss is" : fmt::format("'{}' at {} is", tensor.path, tensor.place),
             is_loss ? step->left_loss : tensor.left, is_loss ? step->right_loss : tensor.right);
  fmt::print("verify differs step={} tensor={} difference={:.2g}\n", number,
             is_loss ? "loss" : tensor.path,
             is_loss ? step->loss.difference : tensor.distance.difference);
}

ExitCode print_result(const RecordingComparison& comparison, double tolerance) {
  if (!comparison.same_start) {
    fmt::print(
        "they differ before the first step: the weights do not begin with the same bits\n"
        "verify differs step=0\n");
    return ExitCode::kDifferent;
  }
  print(comparison, tolerance);
  double most = 0;
  for (const StepComparison& step : comparison.steps) {
    most = std::max(most, step.loss.difference);
  }
  if (comparison.agrees()) {
    fmt::print("verify same loss_difference={:.2g}\n", most);
    return ExitCode::kOk;
  }
  print_difference(comparison, tolerance);
  return ExitCode::kDifferent;
}

ExitCode run(const VerifyArguments& arguments) {
  if (launched_devices() > 0) {
    fail(
        "verify runs all devices as threads of one process, whose numbers are those of ranks: "
        "start it without mpirun");
  }
  const double given = arguments.tolerance.value_or(0);
  if (!(given >= 0)) fail("--tolerance must be 0 or more, not {}", given);

  RecordingOptions options{.steps = arguments.steps};
  if (!arguments.from.empty()) options.from = weights_file(arguments.from);
  ConfigArguments other = *arguments.config;
  std::optional<Job> job = job_of(*arguments.config, false);
  const double tolerance = arguments.tolerance.value_or(default_tolerance(*job));
  const std::string name = name_of(*job, arguments);
  if (arguments.against.empty() && arguments.against_device.empty() &&
      job->mesh.num_devices() == 1) {
    fail("{}: the mesh {} is one device, and --against is one device by default: name another mesh",
         job->config.file, to_string(job->mesh));
  }
  other.overrides.mesh = arguments.against.empty() ? one_device(job->mesh) : arguments.against;
  if (!arguments.against_device.empty()) other.overrides.device = arguments.against_device;
  const Job reference = job_of(other, true);
  fmt::print("{} against {}: {} of {} samples, tolerance {:g}\n", name,
             name_of(reference, arguments),
             arguments.steps == 1 ? "a step" : fmt::format("{} steps", arguments.steps),
             reference.config.fit.batch_size, tolerance);
  std::fflush(stdout);
  const Recording left = record_steps(*job, options);
  job.reset();  // and with it the memory of its data
  const Recording right = record_steps(reference, options);
  options.disturbance = disturbance(reference);
  std::vector<Recording> disturbed;
  RecordingComparison comparison;
  do {
    disturbed.push_back(record_steps(reference, options));
    comparison = compare_recordings(left, right, disturbed, tolerance);
    ++options.draw;
  } while (comparison.same_start && !comparison.agrees() && tolerance > 0 &&
           disturbed.size() < kMostDisturbed);
  return print_result(comparison, tolerance);
}

Run add(Options& options) {
  auto arguments = std::make_shared<VerifyArguments>();
  arguments->config = add_config_arguments(options);
  options.add({"--against", "the other mesh, as --mesh; by default one device", "MESH"},
              arguments->against);
  options.add({.name = "--against-device",
               .help = "where the other mesh lies; by default where this one does",
               .value = "DEVICE",
               .choices = {"auto", "cpu", "cuda"}},
              arguments->against_device);
  options.add({"--steps", "training steps; by default 5", "N"}, arguments->steps);
  options.add(
      {"--tolerance",
       "by default 1e-05, in 16 bits 0.01; 0 asks for the same bits, whatever rounding does",
       "PART"},
      arguments->tolerance);
  options.add({"--from,--weights",
               "start from the weights of a run, a checkpoint, or a file of weights", "DIR"},
              arguments->from);
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Command kVerify{
    .name = "verify",
    .usage = "CONFIG [key=value ...] [options]",
    .summary = "train a few steps on two meshes, and tell where they differ",
    .details = kDetails,
    .add = add,
};

}  // namespace meshwork::cli
