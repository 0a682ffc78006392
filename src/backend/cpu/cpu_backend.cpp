#include <omp.h>

#include <algorithm>

#include "backend/backend.h"
#include "backend/cpu/fusion_group.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/cpu/siblings.h"
#include "base/check.h"
#include "device/cpu_device.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace meshwork {
namespace {

/// Makes the calling thread take numbers too small for float32's full precision as zero.
void flush_subnormals() {
#if defined(__x86_64__)
  constexpr unsigned kFlushToZero = 0x8000, kSubnormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kSubnormalsAreZero);
#elif defined(__aarch64__)
  constexpr std::uint64_t kFlushToZero = 1 << 24;
  std::uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | kFlushToZero));
#endif
}

const KernelDef* find_in(std::span<const KernelDef> kernels, std::string_view op) {
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const KernelDef& kernel) { return kernel.op == op; });
  return found == kernels.end() ? nullptr : &*found;
}

using KernelLists = std::vector<std::span<const KernelDef>>;

KernelLists naive_kernels() { return {reference::elementwise_kernels(), reference::kernels()}; }

/// The fast kernels, with the naive ones for what they leave out.
KernelLists fast_kernels() {
  return {cpu::elementwise_kernels(), cpu::movement_kernels(), cpu::kernels(),
          reference::elementwise_kernels(), reference::kernels()};
}

Target target_of(int threads, const KernelLists& lists) {
  Target target{
      .name = "cpu",
      .threads = threads,
      .alignment = 64,  // a line of the caches
      .cache = std::int64_t{2} << 20U,
      .longest_fusion = 48,
      .longest_row = 4096,
      .launch_bytes = 0,
      .small_copy = std::int64_t{16} << 10U,
      .split_work = std::int64_t{1} << 22U,
      .light_flops = 8,
      .flops_per_byte = 20,
      .small_message = std::int64_t{64} << 10U,
      .bucket = std::int64_t{1} << 20U,
      .fusions = {"attention_blocks", "elementwise", "crossentropy", "early_parts",
                  "fold_constants", "join_parts", "join_products", "overlap_halo", "pack_experts",
                  "recompute", "split_k", "sum_of_squares", "wide_passes", "wide_results"},
  };
  for (const auto& list : lists) {
    for (const KernelDef& kernel : list) target.kernels.emplace(kernel.op);
  }
  return target;
}

/// Kernels from the first list that has the op, computed when they are launched.
class CpuBackend : public Backend {
 public:
  CpuBackend(Target target, KernelLists lists)
      : device_(make_cpu_device(std::move(target))), lists_(std::move(lists)) {}

  Device& device() const override { return *device_; }

  const KernelDef* find(std::string_view op) const override {
    for (const auto& list : lists_) {
      if (const KernelDef* kernel = find_in(list, op)) return kernel;
    }
    return nullptr;
  }

  Launch bind(const KernelDef& kernel, const KernelArgs& args, Stream& /*stream*/) const override {
    return kernel.bind(args);
  }
  Launch bind_fusion(const FusionGroup& args, Stream& stream) const override {
    return bind_members(*this, args, stream);
  }
  std::int64_t fusion_workspace(const FusionGroup& args) const override {
    return members_workspace(*this, args);
  }

 private:
  std::unique_ptr<Device> device_;
  KernelLists lists_;
};

class FastCpuBackend final : public CpuBackend {
 public:
  explicit FastCpuBackend(int threads) : CpuBackend(cpu_target(threads), fast_kernels()) {}

  Launch bind_fusion(const FusionGroup& args, Stream& stream) const override {
    if (args.members.size() == 1) return CpuBackend::bind_fusion(args, stream);
    const bool is_pass = args.kind == FusionGroup::Kind::kPass;
    return is_pass ? cpu::bind_fusion(args) : cpu::bind_siblings(args);
  }
  std::int64_t fusion_workspace(const FusionGroup& args) const override {
    if (args.members.size() == 1) return CpuBackend::fusion_workspace(args);
    const bool is_pass = args.kind == FusionGroup::Kind::kPass;
    return is_pass ? cpu::fusion_workspace(args) : cpu::siblings_workspace(args);
  }
};

}  // namespace

Target cpu_target(int threads) {
  Target target = target_of(threads, fast_kernels());
  for (const cpu::SiblingKernel& kernel : cpu::sibling_kernels()) {
    target.siblings.insert(names_of(kernel.ops));
  }
  return target;
}

std::string onednn_version() {
  const dnnl_version_t& version = *dnnl_version();
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

std::unique_ptr<Backend> make_cpu_backend(int threads) {
  MW_CHECK(threads >= 1, "{} threads", threads);
  omp_set_num_threads(threads);
  // Moments of an optimizer decay through them, and each takes an elementwise kernel a hundred
  // cycles: steps of a small network take twice as long after the first few hundred.
  flush_subnormals();  // LLVM's threads take the modes of this one, GNU's have their own
#pragma omp parallel
  flush_subnormals();
  return std::make_unique<FastCpuBackend>(threads);
}

std::unique_ptr<Backend> make_reference_backend() {
  return std::make_unique<CpuBackend>(target_of(1, naive_kernels()), naive_kernels());
}

}  // namespace meshwork
