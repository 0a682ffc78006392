#include "cuda/guarded_call.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "backend/cpu/convert.h"
#include "backend/cpu/types.h"
#include "base/rng.h"
#include "cuda/case_runs.h"

namespace meshwork::testing {
namespace {

constexpr std::byte kGarbage{0xC7};
constexpr std::int64_t kGuard = 64;

/// Device memory of one call.
class Memory {
 public:
  Memory(Device& device, Stream& stream) : device_(device), stream_(stream) {}

  /// `bytes` of garbage, `shift` bytes behind an aligned place, with a guard behind them.
  std::byte* garbage(std::int64_t bytes, std::int64_t shift) {
    held_.push_back(device_.allocate(bytes + shift + kGuard));
    std::byte* const place = held_.back().get() + shift;
    const std::vector<std::byte> all(static_cast<std::size_t>(bytes + kGuard), kGarbage);
    upload(device_, stream_, place, all.data(), bytes + kGuard);
    return place;
  }

  void check_guard(const std::byte* place, std::int64_t bytes) {
    std::vector<std::byte> guard(kGuard);
    download(device_, stream_, guard.data(), place + bytes, kGuard);
    CHECK(std::count(guard.begin(), guard.end(), kGarbage) == kGuard);
  }

 private:
  Device& device_;
  Stream& stream_;
  std::vector<std::shared_ptr<std::byte>> held_;
};

}  // namespace

HostTensor guarded_call(const OpDef& op, const std::vector<HostTensor>& inputs, const Attrs& attrs,
                       const TensorType& output, const Placing& placing) {
  Device& device = gpu_backend().device();
  const std::unique_ptr<Stream> stream = device.make_stream();
  Memory memory(device, *stream);
  KernelArgs args{.inputs = {}, .output = {output, whole_region(output.shape)}, .attrs = attrs};
  for (const HostTensor& input : inputs) {
    const auto bytes = static_cast<std::int64_t>(input.bytes.size());
    std::byte* const place = memory.garbage(bytes, placing.shift);
    upload(device, *stream, place, input.bytes.data(), bytes);
    args.inputs.push_back({input.type, whole_region(input.type.shape), place});
  }
  const std::int64_t bytes = num_bytes(output);
  args.output.data =
      placing.in_place ? args.inputs[*placing.in_place].data : memory.garbage(bytes, placing.shift);
  const KernelDef& kernel = find_kernel(gpu_backend(), op.name, "a test");
  const std::int64_t scratch = kernel.workspace == nullptr ? 0 : kernel.workspace(args);
  if (scratch > 0) args.workspace = memory.garbage(scratch, 0);
  gpu_backend().bind(kernel, args, *stream)();
  HostTensor result = host_tensor(output);
  download(device, *stream, result.bytes.data(), args.output.data, bytes);
  memory.check_guard(args.output.data, bytes);
  if (scratch > 0) memory.check_guard(args.workspace, scratch);
  return result;
}

HostTensor naive_call(const OpDef& op, const std::vector<HostTensor>& inputs, const Attrs& attrs,
                      const TensorType& output) {
  static const auto naive = make_reference_backend();
  std::vector<Part> parts;
  for (const HostTensor& input : inputs) parts.push_back(whole_part(input));
  return call_kernel(*naive, op, parts, attrs, output, whole_region(output.shape));
}

HostTensor filled(const TensorType& type, const std::function<double(std::int64_t)>& value) {
  HostTensor tensor = host_tensor(type);
  cpu::with_type(type.dtype, [&](auto number) {
    using T = decltype(number);
    for (std::int64_t i = 0; i < num_elements(type.shape); ++i) {
      tensor.as<T>()[static_cast<std::size_t>(i)] = cpu::convert<T>(value(i));
    }
  });
  return tensor;
}

HostTensor noise(const TensorType& type, std::uint64_t seed, double scale) {
  return filled(type, [&](std::int64_t i) {
    return scale * (2.0 * uniform_at(seed, 0, static_cast<std::uint64_t>(i)) - 1);
  });
}

}  // namespace meshwork::testing
