#include "speed/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace meshwork::speed {
namespace {

using Json = nlohmann::ordered_json;

/// What kernels take together.
struct Sums {
  double kernels = 0;        ///< seconds, without collectives
  double in_steps = 0;       ///< seconds, with them
  double communication = 0;  ///< seconds
  double flops = 0;
};

Sums sums_of(const Report& report) {
  Sums sums;
  for (const KernelTime& kernel : report.program.kernels) {
    (kernel.is_collective ? sums.communication : sums.kernels) += kernel.seconds;
    sums.in_steps += kernel.step_seconds;
    sums.flops += kernel.flops;
  }
  return sums;
}

std::vector<KernelTime> slowest(std::vector<KernelTime> kernels, std::size_t top) {
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  kernels.resize(std::min(top, kernels.size()));
  return kernels;
}

struct OpTime {
  std::string op;
  int kernels = 0;
  double seconds = 0;
};

/// Ops, slowest first.
std::vector<OpTime> by_op(const Report& report) {
  std::map<std::string, OpTime> found;
  for (const KernelTime& kernel : report.program.kernels) {
    OpTime& time = found[kernel.op];
    time.op = kernel.op;
    ++time.kernels;
    time.seconds += kernel.seconds;
  }
  std::vector<OpTime> ops;
  for (const auto& [op, time] : found) ops.push_back(time);
  std::stable_sort(ops.begin(), ops.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return ops;
}

Json times_json(const std::vector<double>& samples) {
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
  return {{"median", median(samples)}, {"min", *least}, {"max", *most}, {"samples", samples}};
}

Json kernel_json(const KernelTime& kernel) {
  Json json{{"op", kernel.op},
            {"path", kernel.path},
            {"shapes", kernel.shapes},
            {"seconds", kernel.seconds},
            {"step_seconds", kernel.step_seconds},
            {"bytes", kernel.bytes}};
  if (kernel.flops > 0) json["flops"] = kernel.flops;
  return json;
}

Json kernels_json(const Report& report, std::size_t top) {
  const Sums sums = sums_of(report);
  const double step = median(report.step.from_loader);
  Json json{{"count", report.program.kernels.size()},
            {"seconds", sums.kernels},
            {"step_seconds", sums.in_steps},
            {"input_seconds", report.program.input_seconds},
            {"communication_seconds", sums.communication},
            {"share_of_step", (sums.kernels + sums.communication) / step},
            {"flops", sums.flops},
            {"share_of_peak", sums.flops / step / report.peak}};
  for (const OpTime& op : by_op(report)) json["by_op"][op.op] = op.seconds;
  json["top"] = Json::array();
  for (const KernelTime& kernel : slowest(report.program.kernels, top)) {
    json["top"].push_back(kernel_json(kernel));
  }
  return json;
}

void print_times(const char* what, const std::vector<double>& samples) {
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
  fmt::print("  {:<24} {:10.3f} ms  ({:.3f} to {:.3f})\n", what, median(samples) * 1e3,
             *least * 1e3, *most * 1e3);
}

/// "134.2 GFLOP/s" of kernels that compute more than they move, else "21.0 GB/s".
std::string rate_of(const KernelTime& kernel) {
  if (kernel.flops > kernel.bytes) {
    return fmt::format("{:.1f} GFLOP/s", kernel.flops / kernel.seconds * 1e-9);
  }
  return fmt::format("{:.1f} GB/s", kernel.bytes / kernel.seconds * 1e-9);
}

void print_kernels(const Report& report, std::size_t top) {
  const Sums sums = sums_of(report);
  const double step = median(report.step.from_loader);
  fmt::print("  {:<24} {:10.3f} ms  ({} of them; {:.1f} % of the step with communication)\n",
             "kernels by themselves", sums.kernels * 1e3, report.program.kernels.size(),
             100 * (sums.kernels + sums.communication) / step);
  fmt::print("  {:<24} {:10.3f} ms\n", "kernels in the step", sums.in_steps * 1e3);
  fmt::print("  {:<24} {:10.3f} ms\n", "input in the step", report.program.input_seconds * 1e3);
  if (sums.communication > 0) {
    fmt::print("  {:<24} {:10.3f} ms\n", "communication by itself", sums.communication * 1e3);
  }
  fmt::print("  {:<24} {:10.1f} GFLOP/s of {:.1f}  ({:.1f} %)\n", "a device computes",
             sums.flops / step * 1e-9, report.peak * 1e-9, 100 * sums.flops / step / report.peak);
  for (const OpTime& op : by_op(report)) {
    if (op.seconds < 0.005 * sums.kernels) continue;
    fmt::print("    {:<22} {:10.3f} ms  {:5.1f} %  {:3} kernels\n", op.op, op.seconds * 1e3,
               100 * op.seconds / (sums.kernels + sums.communication), op.kernels);
  }
  if (top > 0) fmt::print("  slowest kernels: by themselves, and in the step\n");
  for (const KernelTime& kernel : slowest(report.program.kernels, top)) {
    fmt::print("    {:<22} {:10.3f} ms  {:>15}  {:8.3f} ms  {}  {}\n", kernel.op,
               kernel.seconds * 1e3, rate_of(kernel), kernel.step_seconds * 1e3, kernel.path,
               kernel.shapes);
  }
}

}  // namespace

Json to_json(const Report& report, std::size_t top) {
  const double step = median(report.step.from_loader);
  Json json{{"config", report.config},
            {"mesh", report.mesh},
            {"devices", report.devices},
            {"by_mpirun", report.by_mpirun},
            {"threads", report.threads},
            {"batch", report.batch},
            {"step", times_json(report.step.from_loader)},
            {"step_from_memory", times_json(report.step.from_memory)},
            {"steps_per_sample", report.step.steps},
            {"samples_per_second", static_cast<double>(report.batch) / step},
            {"peak_flops", report.peak},
            {"variable_bytes", report.variable_bytes},
            {"arena_bytes", report.arena_bytes},
            {"kept_data_bytes", report.kept_data_bytes},
            {"peak_resident_bytes", report.peak_resident_bytes}};
  if (!report.program.kernels.empty()) json["kernels"] = kernels_json(report, top);
  return json;
}

void print(const Report& report, std::size_t top) {
  constexpr double kMiB = 1024 * 1024;
  const double step = median(report.step.from_loader);
  fmt::print("{}, batch {}, mesh {}: {} {} of {} thread{}\n", report.config, report.batch,
             report.mesh, report.devices, report.by_mpirun ? "rank(s)" : "device(s)",
             report.threads, report.threads == 1 ? "" : "s");
  print_times("step", report.step.from_loader);
  print_times("step on one batch", report.step.from_memory);
  fmt::print("  {:<24} {:10.0f} per second\n", "samples", static_cast<double>(report.batch) / step);
  if (!report.program.kernels.empty()) print_kernels(report, top);
  const auto mebi = [](std::int64_t bytes) { return static_cast<double>(bytes) / kMiB; };
  fmt::print("  {:<24} {:10.1f} MiB, of which variables {:.1f}\n", "plan of a device",
             mebi(report.arena_bytes), mebi(report.variable_bytes));
  fmt::print("  {:<24} {:10.1f} MiB of the data set; resident at most {:.1f}\n", "a process keeps",
             mebi(report.kept_data_bytes), mebi(report.peak_resident_bytes));
}

}  // namespace meshwork::speed
