#include <omp.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>

#include "backend/backend.h"
#include "backend/cpu/chain.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/reference/kernels.h"
#include "base/check.h"
#include "base/error.h"
#include "base/huge_pages.h"
#include "base/parallel.h"

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

/// Bytes that can be had without swapping, as the system estimates them; the greatest number where
/// it does not.
std::int64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  std::int64_t kilobytes = 0;
  while (file >> name >> kilobytes && std::getline(file, unit)) {
    if (name == "MemAvailable:") return kilobytes * 1024;
  }
  return std::numeric_limits<std::int64_t>::max();
}

[[noreturn]] void fail_short_of_memory(std::int64_t bytes, std::int64_t available) {
  fail(ExitCode::kTraining,
       "device memory: {} bytes are needed and about {} are available on this machine; use a "
       "smaller batch, or shard over more devices",
       bytes, available);
}

const KernelDef* find_in(std::span<const KernelDef> kernels, std::string_view op) {
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const KernelDef& kernel) { return kernel.op == op; });
  return found == kernels.end() ? nullptr : &*found;
}

/// Memory of the host; kernels from the first list that has the op.
class CpuBackend : public Backend {
 public:
  CpuBackend(std::string name, std::vector<std::span<const KernelDef>> lists)
      : name_(std::move(name)), lists_(std::move(lists)) {}

  std::string name() const override { return name_; }

  const KernelDef* find(std::string_view op) const override {
    for (const auto& list : lists_) {
      if (const KernelDef* kernel = find_in(list, op)) return kernel;
    }
    return nullptr;
  }

  std::shared_ptr<std::byte> allocate(std::int64_t bytes, const HostMemory& host) override {
    MW_CHECK(bytes >= 0, "{} bytes", bytes);
    // The system promises more than it has, and kills who takes it at its word.
    const std::int64_t available = available_memory();
    if (bytes > available) fail_short_of_memory(bytes, available);
    std::shared_ptr<std::byte> memory = host ? host(bytes) : nullptr;
    if (memory == nullptr) memory = zeroed_pages(static_cast<std::size_t>(bytes));
    if (memory == nullptr) fail_short_of_memory(bytes, available);
    return memory;
  }

  void fill(std::byte* device, std::int64_t /*bytes*/,
            const std::function<void(std::byte* host)>& write) override {
    write(device);
  }

  void copy_to_device(std::byte* device, const void* host, std::int64_t bytes) override {
    if (bytes > 0) std::memcpy(device, host, static_cast<std::size_t>(bytes));
  }

  void copy_to_host(void* host, const std::byte* device, std::int64_t bytes) override {
    if (bytes > 0) std::memcpy(host, device, static_cast<std::size_t>(bytes));
  }

 private:
  std::string name_;
  std::vector<std::span<const KernelDef>> lists_;
};

/// The fast kernels, with the naive ones for what they leave out.
class FastCpuBackend final : public CpuBackend {
 public:
  FastCpuBackend()
      : CpuBackend("cpu", {cpu::elementwise_kernels(), cpu::kernels(),
                           reference::elementwise_kernels(), reference::kernels()}) {}

  Launch bind_chain(const ChainArgs& args) const override { return cpu::bind_chain(args); }

  /// Convolutions of oneDNN may count on as many threads as there were when they were bound.
  bool leaves_threads_idle(std::string_view op, std::span<const TensorType> inputs,
                           const TensorType& output, double flops) const override {
    const auto is_small = [](const TensorType& type) {
      return num_elements(type.shape) < kParallelElements;
    };
    return omp_get_max_threads() > 1 && !op.starts_with("convolution") && is_small(output) &&
           std::all_of(inputs.begin(), inputs.end(), is_small) &&
           flops < static_cast<double>(2 * cpu::kSerialProduct);
  }
  bool reads_panels() const override { return true; }
  std::int64_t chain_workspace(const ChainArgs& args) const override {
    return cpu::chain_workspace(args);
  }
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(int threads) {
  MW_CHECK(threads >= 1, "{} threads", threads);
  omp_set_num_threads(threads);
  // Moments of an optimizer decay through them, and each takes an elementwise kernel a hundred
  // cycles: steps of a small network take twice as long after the first few hundred.
  flush_subnormals();  // LLVM's threads take the modes of this one, GNU's have their own
#pragma omp parallel
  flush_subnormals();
  return std::make_unique<FastCpuBackend>();
}

std::unique_ptr<Backend> make_reference_backend() {
  return std::make_unique<CpuBackend>(
      "reference", std::vector<std::span<const KernelDef>>{reference::elementwise_kernels(),
                                                           reference::kernels()});
}

}  // namespace meshwork
