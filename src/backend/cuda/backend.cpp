#include "backend/backend.h"

#include <algorithm>
#include <array>
#include <utility>

#include "backend/cuda/kernels.h"
#include "base/check.h"
#include "device/cuda_device.h"

namespace meshwork {
namespace {

using KernelList = std::span<const KernelDef>;

auto kernel_lists() {
  return std::to_array<KernelList>(
      {cuda::attention_kernels(), cuda::copy_kernels(), cuda::elementwise_kernels(),
       cuda::movement_kernels(), cuda::product_kernels(), cuda::random_kernels(),
       cuda::reduction_kernels(), cuda::table_kernels(), cuda::window_kernels()});
}

const std::vector<cuda::SiblingKernels>& sibling_kernels() {
  static const std::vector<cuda::SiblingKernels> kAll{cuda::attention_siblings(),
                                                      cuda::crossentropy_siblings()};
  return kAll;
}

const cuda::SiblingKernels& siblings_of(const FusionGroup& group) {
  const auto has_all = [&](const std::vector<std::string>& ops) {
    return std::ranges::all_of(group.members, [&](const FusionGroup::Member& member) {
      return std::ranges::count(ops, member.op) > 0;
    });
  };
  const auto found = std::ranges::find_if(sibling_kernels(), [&](const auto& kernels) {
    return std::ranges::any_of(kernels.ops, has_all);
  });
  MW_CHECK(found != sibling_kernels().end(), "'{}' has no siblings", group.members.front().op);
  return *found;
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(std::optional<int> gpu, Target target) : target_(std::move(target)) {
    if (!gpu) return;
    device_ = make_cuda_device(*gpu, target_);
    target_ = device_->target();
  }

  Device& device() const override {
    MW_CHECK(device_ != nullptr, "a backend without a GPU");
    return *device_;
  }

  const KernelDef* find(std::string_view op) const override {
    for (const KernelList& list : kernel_lists()) {
      const auto found = std::find_if(list.begin(), list.end(),
                                      [&](const KernelDef& kernel) { return kernel.op == op; });
      if (found != list.end()) return &*found;
    }
    return nullptr;
  }

  Launch bind(const KernelDef& kernel, const KernelArgs& args, Stream& stream) const override {
    KernelArgs mine = args;
    mine.stream = &stream;
    mine.target = &target_;
    return kernel.bind(mine);
  }
  std::int64_t workspace(const KernelDef& kernel, const KernelArgs& args) const override {
    KernelArgs mine = args;
    mine.target = &target_;
    return Backend::workspace(kernel, mine);
  }
  Launch bind_fusion(const FusionGroup& args, Stream& stream) const override {
    if (args.kind != FusionGroup::Kind::kSiblings) return bind_passes({&args, 1}, stream);
    return siblings_of(args).bind(args, cuda::cuda_stream(stream));
  }
  Launch bind_passes(std::span<const FusionGroup> passes, Stream& stream) const override {
    cuda::CudaStream& mine = cuda::cuda_stream(stream);
    if (passes.front().kind == FusionGroup::Kind::kPass) return cuda::bind_fusions(passes, mine);
    if (auto sums = cuda::bind_sums(passes, mine)) return *sums;
    auto stack = cuda::bind_stack(passes, target_, mine);
    MW_CHECK(stack, "'{}' is computed alone", passes.front().members.front().op);
    return *stack;
  }
  std::int64_t fusion_workspace(const FusionGroup& args) const override {
    switch (args.kind) {
      case FusionGroup::Kind::kSiblings:
        return siblings_of(args).workspace(args);
      case FusionGroup::Kind::kNode:
        return cuda::sums_workspace(args);
      case FusionGroup::Kind::kPass:
        break;
    }
    return cuda::pass_workspace(args);
  }

  std::vector<std::int64_t> passes_workspace(std::span<const FusionGroup> passes) const override {
    const auto shared = cuda::stack_workspace(passes, target_);
    if (!shared) return Backend::passes_workspace(passes);
    std::vector<std::int64_t> begins(passes.size(), 0);
    begins.push_back(*shared);
    return begins;
  }

 private:
  Target target_;
  std::unique_ptr<Device> device_;
};

}  // namespace

Target cuda_target() {
  Target target{
      .name = "cuda",
      .threads = 1,
      .alignment = 256,
      .cache = 0,  // passes over elements take no product or sum along
      .longest_fusion = 48,
      .longest_row = 16384,
      .column_sums = cuda::kMostColumnSums,
      .launch_bytes = std::int64_t{4} << 20U,  // 2 us at 2 TB/s
      .small_copy = std::int64_t{16} << 10U,
      .split_work = 0,
      .product_line = 16,
      .padded_work = std::int64_t{1} << 31U,
      .memory_line = 128,
      .narrow_speed = 16,
      .light_flops = 16,
      .flops_per_byte = 100,
      .small_message = std::int64_t{256} << 10U,
      .bucket = std::int64_t{16} << 20U,
      .prefetch = std::int64_t{64} << 20U,
      .fusions = {"attention_results", "channel_moments", "column_sums",    "elementwise",
                  "crossentropy",      "early_parts",     "einsum_bias",    "fold_constants",
                  "horizontal",        "join_parts",      "join_products",  "pack_experts",
                  "pad_classes",       "recompute",       "scaled_sum",     "small_gathers",
                  "small_scatters",    "stacks",          "sum_of_squares", "wide_passes",
                  "wide_results"},
  };
  for (const KernelList& list : kernel_lists()) {
    for (const KernelDef& kernel : list) target.kernels.emplace(kernel.op);
  }
  for (const cuda::SiblingKernels& siblings : sibling_kernels()) {
    target.siblings.insert(siblings.ops.begin(), siblings.ops.end());
  }
  for (const std::string_view op : cuda::sums_beside_others()) target.several_at_once.emplace(op);
  for (const std::string_view op : cuda::stacked_ops()) target.stacked.emplace(op);
  return target;
}

std::unique_ptr<Backend> make_cuda_backend(std::optional<int> gpu, Target target) {
  return std::make_unique<CudaBackend>(gpu, std::move(target));
}

}  // namespace meshwork
