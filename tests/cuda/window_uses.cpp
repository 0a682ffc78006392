#include "cuda/window_uses.h"

#include <doctest/doctest.h>

#include <cmath>

#include "base/bfloat16.h"
#include "base/rng.h"
#include "cuda/case_runs.h"
#include "ops/ops.h"

namespace meshwork::testing {
namespace {

Attrs attrs_of(const Geometry& g, const Shape& extents, DType result) {
  return {{"strides", g.strides}, {"padding", g.low},   {"dilations", g.dilations},
          {"groups", g.groups},   {"extents", extents}, {"dtype", std::string(to_string(result))}};
}

}  // namespace

Shape Geometry::y(std::int64_t channels) const {
  Shape shape{x[0]};
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const std::int64_t span = (w[i] - 1) * dilations[i] + 1;
    shape.push_back((x[i + 1] + low[i] + high[i] - span) / strides[i] + 1);
  }
  shape.push_back(channels);
  return shape;
}

HostTensor integers(const Shape& shape, DType dtype, std::uint64_t seed, int low, int high) {
  HostTensor tensor = host_tensor(TensorType{dtype, shape});
  for (std::size_t i = 0; i < static_cast<std::size_t>(num_elements(shape)); ++i) {
    const auto value =
        static_cast<float>(low + std::floor((high - low + 1) * uniform_at(seed, 0, i)));
    if (dtype == DType::kFloat32) {
      tensor.as<float>()[i] = value;
    } else {
      tensor.as<BFloat16>()[i] = BFloat16(value);
    }
  }
  return tensor;
}

HostTensor on_gpu(const Use& use, const KernelDef& kernel, std::int64_t shift) {
  Device& device = gpu_backend().device();
  const std::unique_ptr<Stream> stream = device.make_stream();
  std::vector<std::shared_ptr<std::byte>> memory;
  const auto filled = [&](const std::vector<std::byte>& bytes, std::int64_t behind) {
    const auto count = static_cast<std::int64_t>(bytes.size());
    memory.push_back(device.allocate(std::max<std::int64_t>(count + behind, 1)));
    upload(device, *stream, memory.back().get() + behind, bytes.data(), count);
    return memory.back().get() + behind;
  };
  const auto garbage = [](std::int64_t bytes) {
    return std::vector<std::byte>(static_cast<std::size_t>(bytes), std::byte{0xCD});
  };
  const auto behind = [&](DType dtype) {
    return shift * static_cast<std::int64_t>(size_of(dtype));
  };
  KernelArgs args{.inputs = {},
                  .output = {use.output, whole_region(use.output.shape),
                             filled(garbage(num_bytes(use.output)), behind(use.output.dtype))},
                  .attrs = use.attrs};
  for (const HostTensor& input : use.inputs) {
    args.inputs.push_back({input.type, whole_region(input.type.shape),
                           filled(input.bytes, behind(input.type.dtype))});
  }
  args.workspace = filled(garbage(gpu_backend().workspace(kernel, args)), 0);
  gpu_backend().bind(kernel, args, *stream)();
  HostTensor result = host_tensor(use.output);
  download(device, *stream, result.bytes.data(), args.output.data,
           static_cast<std::int64_t>(result.bytes.size()));
  return result;
}

HostTensor naive(const Use& use) {
  static const auto backend = make_reference_backend();
  std::vector<Part> inputs;
  for (const HostTensor& input : use.inputs) inputs.push_back(whole_part(input));
  return call_kernel(*backend, *use.op, inputs, use.attrs, use.output,
                     whole_region(use.output.shape));
}

void check_use(const Use& use, const KernelDef& kernel, std::int64_t shift) {
  if (!is_asked_for(use.op->name)) return;
  INFO(use.op->name, " ", to_string(use.inputs[0].type), " -> ", to_string(use.output),
       " shifted by ", shift);
  CHECK(difference(on_gpu(use, kernel, shift), naive(use), 0) == "");
}

void check_use(const Use& use, std::int64_t shift) {
  const KernelDef* const kernel = gpu_backend().find(use.op->name);
  REQUIRE(kernel != nullptr);
  check_use(use, *kernel, shift);
}

Shape inner(const Shape& x) { return {x.begin() + 1, x.end() - 1}; }

Use convolution(const Geometry& g, DType dtype, DType result) {
  const Shape y = g.y(g.w.back());
  return {&ops::kConvolution,
          {integers(g.x, dtype, 1, -2, 2), integers(g.w, dtype, 2, -2, 2)},
          attrs_of(g, inner(y), result),
          {result, y}};
}

Use backward_data(const Geometry& g, DType dtype, DType result) {
  return {&ops::kConvolutionBackwardData,
          {integers(g.y(g.w.back()), dtype, 3, -2, 2), integers(g.w, dtype, 2, -2, 2)},
          attrs_of(g, inner(g.x), result),
          {result, g.x}};
}

Use backward_filter(const Geometry& g, DType dtype, DType result) {
  return {&ops::kConvolutionBackwardFilter,
          {integers(g.x, dtype, 1, -2, 2), integers(g.y(g.w.back()), dtype, 3, -2, 2)},
          attrs_of(g, Shape(g.w.begin(), g.w.end() - 2), result),
          {result, g.w}};
}

}  // namespace meshwork::testing
