#include "cuda/placed_call.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "cuda/case_runs.h"

namespace meshwork::testing {
namespace {

constexpr std::byte kGarbage{0xC7};
constexpr std::int64_t kGuard = 64;

/// Device memory of one call.
class Memory {
 public:
  Memory(Device& device, Stream& stream) : device_(device), stream_(stream) {}

  /// `bytes` of garbage, `before` bytes behind an aligned place, with a guard behind them.
  std::byte* garbage(std::int64_t bytes, std::int64_t before) {
    held_.push_back(device_.allocate(before + bytes + kGuard));
    std::byte* const place = held_.back().get() + before;
    const std::vector<std::byte> all(static_cast<std::size_t>(bytes + kGuard), kGarbage);
    upload(device_, stream_, place, all.data(), bytes + kGuard);
    return place;
  }

  /// Of a tensor, `shift` elements behind an aligned place.
  std::byte* garbage_of(const TensorType& type, std::int64_t shift) {
    return garbage(num_bytes(type), shift * static_cast<std::int64_t>(size_of(type.dtype)));
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

Call whole_call(const OpDef& op, const std::vector<HostTensor>& inputs, const Attrs& attrs,
                const TensorType& output) {
  Call call{op, {}, attrs, output, whole_region(output.shape)};
  for (const HostTensor& input : inputs) call.inputs.push_back(whole_part(input));
  return call;
}

HostTensor call_placed(const Call& call, const Places& places) {
  Device& device = gpu_backend().device();
  const std::unique_ptr<Stream> stream = device.make_stream();
  Memory memory(device, *stream);
  KernelArgs args{.inputs = {}, .output = {call.output, call.region}, .attrs = call.attrs};
  for (const Part& part : call.inputs) {
    const TensorType& type = part.tensor.type;
    args.inputs.push_back({type, part.region, memory.garbage_of(type, places.shift)});
    upload(device, *stream, args.inputs.back().data, part.tensor.bytes.data(), num_bytes(type));
  }
  args.output.data = places.in_place >= 0
                         ? args.inputs.at(static_cast<std::size_t>(places.in_place)).data
                         : memory.garbage_of(call.output, places.shift);
  const KernelDef& kernel = find_kernel(gpu_backend(), call.op.name, "a test");
  const std::int64_t scratch = gpu_backend().workspace(kernel, args);
  if (scratch > 0) args.workspace = memory.garbage(scratch, 0);
  gpu_backend().bind(kernel, args, *stream)();
  HostTensor result = host_tensor(call.output);
  const std::int64_t bytes = num_bytes(call.output);
  download(device, *stream, result.bytes.data(), args.output.data, bytes);
  memory.check_guard(args.output.data, bytes);
  if (scratch > 0) memory.check_guard(args.workspace, scratch);
  return result;
}

HostTensor call_naive(const Call& call) {
  static const auto naive = make_reference_backend();
  return call_kernel(*naive, call.op, call.inputs, call.attrs, call.output, call.region);
}

HostTensor call_placed(const OpDef& op, const std::vector<HostTensor>& inputs, const Attrs& attrs,
                       const TensorType& output, const Places& places) {
  return call_placed(whole_call(op, inputs, attrs, output), places);
}

HostTensor call_naive(const OpDef& op, const std::vector<HostTensor>& inputs, const Attrs& attrs,
                      const TensorType& output) {
  return call_naive(whole_call(op, inputs, attrs, output));
}

void check_bytes(const Call& call, const Places& places) {
  const HostTensor expected = call_naive(call);
  const HostTensor found = call_placed(call, places);
  if (found != expected) CHECK(difference(found, expected, 0) == "");
  CHECK(found == expected);
  CHECK(call_placed(call, places) == found);
}

void check_numbers(const Call& call, const Places& places) {
  const HostTensor found = call_placed(call, places);
  CHECK(difference(found, call_naive(call), 0) == "");
  CHECK(call_placed(call, places) == found);
}

HostTensor check_close(const OpDef& op, const std::vector<HostTensor>& inputs, const Attrs& attrs,
                       const TensorType& output, double tolerance) {
  const HostTensor expected = call_naive(op, inputs, attrs, output);
  HostTensor y = call_placed(op, inputs, attrs, output);
  CHECK(difference(y, expected, tolerance) == "");
  CHECK(call_placed(op, inputs, attrs, output) == y);
  const HostTensor moved = call_placed(op, inputs, attrs, output, {.shift = 1});
  CHECK(difference(moved, expected, tolerance) == "");
  return y;
}

}  // namespace meshwork::testing
