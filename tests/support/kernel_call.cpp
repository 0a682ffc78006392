#include "support/kernel_call.h"

#include <algorithm>
#include <memory>

#include "base/error.h"

namespace meshwork {

Part whole_part(HostTensor tensor) {
  Window window = whole_window(tensor.type.shape);
  return {std::move(tensor), std::move(window)};
}

Part part_of(const HostTensor& whole, std::size_t dim, std::int64_t offset, std::int64_t extent) {
  Window window = whole_window(whole.type.shape);
  window.offset[dim] = offset;
  Shape local = whole.type.shape;
  local[dim] = extent;
  return {cut(whole, window.offset, local), std::move(window)};
}

HostTensor call_kernel(Backend& backend, const OpDef& op, const std::vector<Part>& inputs,
                       const Attrs& attrs, const TensorType& output, const Window& window) {
  const KernelDef* kernel = backend.find(op.name);
  if (kernel == nullptr) fail("no {} kernel for op '{}'", backend.name(), op.name);
  std::vector<std::shared_ptr<std::byte>> memory;
  const auto allocate = [&](std::int64_t bytes) {
    memory.push_back(backend.allocate(std::max<std::int64_t>(bytes, 1)));
    return memory.back().get();
  };
  KernelArgs args{
      .inputs = {}, .output = {output, window, allocate(num_bytes(output))}, .attrs = attrs};
  for (const Part& part : inputs) {
    const auto bytes = static_cast<std::int64_t>(part.tensor.bytes.size());
    args.inputs.push_back({part.tensor.type, part.window, allocate(bytes)});
    backend.copy_to_device(args.inputs.back().data, part.tensor.bytes.data(), bytes);
  }
  if (kernel->workspace != nullptr) args.workspace = allocate(kernel->workspace(args));
  kernel->bind(args)();
  HostTensor result = host_tensor(output);
  backend.copy_to_host(result.bytes.data(), args.output.data,
                       static_cast<std::int64_t>(result.bytes.size()));
  return result;
}

}  // namespace meshwork
