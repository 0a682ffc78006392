#include "job/tuned_products.h"

#include <vector>

#include "base/error.h"
#include "device/cuda_device.h"
#include "exec/kernel_args.h"
#include "job/device_plans.h"

namespace meshwork {

std::optional<TunedProducts> tuned_products(const Job& job, int device) {
  if (!is_on_gpus(job)) return std::nullopt;
  return tuned_products(gpu_of_device(device));
}

std::string show_products(int gpu) {
  try {
    const std::optional<TunedProducts> tuned = tuned_products(gpu);
    return tuned ? fmt::format("tuned, {} in {}", tuned->count, tuned->file)
                 : "as cuBLASLt's heuristics say; 'meshwork tune' measures them";
  } catch (const Error& error) {
    return error.what();
  }
}

namespace {

/// Memory begins there as well aligned as anywhere. Nothing is read.
std::byte* const kSomewhere = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 30U);

void add_kernels(const Job& job, int device, const MemoryQuery& query,
                 std::vector<KernelUse>& kernels) {
  const ProgramKey step{ProgramKind::kTrain, job.config.fit.batch_size};
  const DevicePlans plans = plan_device(job, device, query);
  for (const auto& [key, plan] : plans.plans) {
    const bool is_step = device == 0 && key == step;
    const auto add = [&](std::string_view op, const std::vector<KernelArgs>& nodes) {
      kernels.push_back({op, nodes, is_step});
    };
    for_each_kernel(plan, kSomewhere, add);
  }
}

}  // namespace

Tuning tune_products(const Job& job, const TuningWatch& watch) {
  const MemoryQuery query = memory_query(job);
  std::vector<KernelUse> kernels;
  for (const int device : different_devices(job)) add_kernels(job, device, query, kernels);
  return tune_products(0, job.target, kernels, watch);
}

}  // namespace meshwork
