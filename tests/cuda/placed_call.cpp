#include "cuda/placed_call.h"

#include <doctest/doctest.h>

#include <random>

#include "base/bfloat16.h"
#include "base/check.h"
#include "cuda/case_runs.h"

namespace meshwork::testing {
namespace {

std::mt19937& random_engine() {
  static std::mt19937 engine(7);  // NOLINT: the same numbers each time
  return engine;
}

/// Memory of the device, as long as it is needed.
class Memory {
 public:
  explicit Memory(Device& device) : device_(device) {}

  std::byte* place(const TensorType& type, std::int64_t shift) {
    const std::int64_t before = shift * static_cast<std::int64_t>(size_of(type.dtype));
    return bytes(before + num_bytes(type)) + before;
  }
  std::byte* bytes(std::int64_t count) {
    held_.push_back(device_.allocate(std::max<std::int64_t>(count, 1)));
    return held_.back().get();
  }

 private:
  Device& device_;
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
  Backend& backend = gpu_backend();
  const KernelDef& kernel = find_kernel(backend, call.op.name, "");
  const std::unique_ptr<Stream> stream = backend.device().make_stream();
  Memory memory(backend.device());
  KernelArgs args;
  args.attrs = call.attrs;
  for (const Part& part : call.inputs) {
    args.inputs.push_back(
        {part.tensor.type, part.region, memory.place(part.tensor.type, places.shift)});
    upload(backend.device(), *stream, args.inputs.back().data, part.tensor.bytes.data(),
           num_bytes(part.tensor.type));
  }
  args.output = {call.output, call.region,
                 places.over >= 0 ? args.inputs.at(static_cast<std::size_t>(places.over)).data
                                  : memory.place(call.output, places.shift)};
  if (kernel.workspace != nullptr) args.workspace = memory.bytes(kernel.workspace(args));
  backend.bind(kernel, args, *stream)();
  HostTensor result = host_tensor(call.output);
  download(backend.device(), *stream, result.bytes.data(), args.output.data,
           num_bytes(call.output));
  const std::unique_ptr<Event> done = backend.device().make_event();
  stream->record(*done);
  done->wait();
  return result;
}

void check_bytes(const Call& call, const Places& places) {
  static const auto naive = make_reference_backend();
  const HostTensor expected =
      call_kernel(*naive, call.op, call.inputs, call.attrs, call.output, call.region);
  const HostTensor found = call_placed(call, places);
  if (found != expected) CHECK(difference(found, expected, 0) == "");
  CHECK(found == expected);
  CHECK(call_placed(call, places) == found);
}

HostTensor random_bytes(const TensorType& type) {
  HostTensor tensor = host_tensor(type);
  for (std::byte& byte : tensor.bytes) byte = static_cast<std::byte>(random_engine()());
  return tensor;
}

HostTensor random_integers(const Shape& shape, std::int64_t low, std::int64_t high) {
  HostTensor tensor = host_tensor(TensorType{DType::kInt32, shape});
  std::uniform_int_distribution<std::int64_t> draw(low, high);
  for (std::int32_t& x : tensor.as<std::int32_t>()) {
    x = static_cast<std::int32_t>(draw(random_engine()));
  }
  return tensor;
}

HostTensor random_fractions(const TensorType& type) {
  HostTensor tensor = host_tensor(type);
  std::uniform_int_distribution<int> draw(-512, 512);
  const auto next = [&] { return static_cast<float>(draw(random_engine())) / 64; };
  if (type.dtype == DType::kBFloat16) {
    for (BFloat16& x : tensor.as<BFloat16>()) x = BFloat16(next());
  } else {
    MW_CHECK(type.dtype == DType::kFloat32);
    for (float& x : tensor.as<float>()) x = next();
  }
  return tensor;
}

}  // namespace meshwork::testing
