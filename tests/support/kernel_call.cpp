#include "support/kernel_call.h"

#include <algorithm>
#include <memory>

#include "base/error.h"

namespace meshwork {

Part whole_part(HostTensor tensor) {
  Region region = whole_region(tensor.type.shape);
  return {std::move(tensor), std::move(region)};
}

Part part_of(const HostTensor& whole, std::size_t dim, std::int64_t offset, std::int64_t extent) {
  Region region = whole_region(whole.type.shape);
  region.offset[dim] = offset;
  Shape local = whole.type.shape;
  local[dim] = extent;
  return {cut(whole, region.offset, local), std::move(region)};
}

HostTensor call_kernel(Backend& backend, const OpDef& op, const std::vector<Part>& inputs,
                       const Attrs& attrs, const TensorType& output, const Region& region) {
  const KernelDef* kernel = backend.find(op.name);
  if (kernel == nullptr) fail("no {} kernel for op '{}'", backend.device().target().name, op.name);
  const std::unique_ptr<Stream> stream = backend.device().make_stream();
  std::vector<std::shared_ptr<std::byte>> memory;
  const auto allocate = [&](std::int64_t bytes) {
    memory.push_back(backend.device().allocate(std::max<std::int64_t>(bytes, 1)));
    return memory.back().get();
  };
  KernelArgs args{
      .inputs = {}, .output = {output, region, allocate(num_bytes(output))}, .attrs = attrs};
  for (const Part& part : inputs) {
    const auto bytes = static_cast<std::int64_t>(part.tensor.bytes.size());
    args.inputs.push_back({part.tensor.type, part.region, allocate(bytes)});
    upload(backend.device(), *stream, args.inputs.back().data, part.tensor.bytes.data(), bytes);
  }
  args.workspace = allocate(backend.workspace(*kernel, args));
  backend.bind(*kernel, args, *stream)();
  HostTensor result = host_tensor(output);
  download(backend.device(), *stream, result.bytes.data(), args.output.data,
           static_cast<std::int64_t>(result.bytes.size()));
  // Nothing was downloaded of an empty result, and a kernel may still read its operands.
  const std::unique_ptr<Event> done = backend.device().make_event();
  stream->record(*done);
  done->wait();
  return result;
}

}  // namespace meshwork
