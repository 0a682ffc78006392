#include "cuda/attention_use.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/bfloat16.h"
#include "base/float16.h"
#include "base/rng.h"
#include "ops/ops.h"
#include "support/shared_case.h"

namespace meshwork::testing {
namespace {

/// Element i is value(i).
template <class Value>
HostTensor filled(DType dtype, const Shape& shape, const Value& value) {
  HostTensor result = host_tensor(TensorType{dtype, shape});
  const auto fill = [&](auto elements) {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      elements[i] = static_cast<std::decay_t<decltype(elements[0])>>(value(i));
    }
  };
  if (dtype == DType::kFloat32) fill(result.as<float>());
  if (dtype == DType::kBFloat16) fill(result.as<BFloat16>());
  if (dtype == DType::kFloat16) fill(result.as<Float16>());
  if (dtype == DType::kInt32) fill(result.as<std::int32_t>());
  if (dtype == DType::kInt64) fill(result.as<std::int64_t>());
  return result;
}

HostTensor normals(DType dtype, const Shape& shape, std::uint64_t key) {
  return filled(dtype, shape, [&](std::size_t i) { return normal_at(key, 0, i); });
}

}  // namespace

Attention::Attention(const Sizes& x, const AttentionOptions& options, const Shape& mask,
                     DType dtype)
    : attrs(attention_attrs(options)),
      q(whole_part(normals(dtype, {x.b, x.t, x.g, x.r, x.d}, 1))),
      k(whole_part(normals(dtype, {x.b, x.s, x.g, x.d}, 2))),
      v(whole_part(normals(dtype, {x.b, x.s, x.g, x.e}, 3))),
      dy(whole_part(normals(dtype, {x.b, x.t, x.g, x.r, x.e}, 4))),
      delta(whole_part(normals(DType::kFloat32, {x.b, x.t, x.g, x.r}, 5))) {
  const auto add = [&](HostTensor extra) { extras.push_back(whole_part(std::move(extra))); };
  if (!mask.empty()) {
    add(filled(DType::kFloat32, mask,
               [](std::size_t i) { return normal_at(6, 0, i) > -0.5F ? 1 : 0; }));
  }
  if (options.rate != 0) add(filled(DType::kInt64, {}, [](std::size_t) { return 12; }));
  if (options.shifted) {
    add(filled(DType::kInt32, {x.b}, [](std::size_t i) { return 40 * i + 3; }));
  }
  for (const std::int64_t places : {x.t, x.s}) {
    if (!options.segmented) continue;
    // Of 37 and more places each.
    add(filled(DType::kInt32, {x.b, places}, [&](std::size_t i) {
      const auto sample = static_cast<std::int64_t>(i) / places;
      return (static_cast<std::int64_t>(i) - sample * places) / (37 + 20 * sample);
    }));
  }
  know_log_sum();
}

void Attention::know_log_sum() {
  const Shape lines = log_sum_shape(q.tensor.type.shape, attention_options(attrs).by_head);
  log_sum = whole_part(call_kernel(*make_reference_backend(), ops::kAttentionLogSum,
                                   in_float32().operands(ops::kAttention), attrs,
                                   {DType::kFloat32, lines}, whole_region(lines)));
}

void Attention::know_result() {
  const HostTensor y = in_float32().run(*make_reference_backend(), ops::kAttention);
  delta = {in_dtype(y, dy.tensor.type.dtype), dy.region};
  attrs.set("with_result", true);
}

void Attention::turn_log_sum() {
  attrs.set("by_head", true);
  know_log_sum();
}

std::vector<Part> Attention::operands(const OpDef& op) const {
  std::vector<Part> result{q, k, v};
  if (op.name.ends_with("gradient")) result = {q, k, v, dy, log_sum, delta};
  result.insert(result.end(), extras.begin(), extras.end());
  return result;
}

Attention Attention::in_float32() const {
  Attention wide = *this;
  std::vector<Part*> parts{&wide.q, &wide.k, &wide.v, &wide.dy};
  if (attention_options(attrs).with_result) parts.push_back(&wide.delta);
  for (Part* const part : parts) part->tensor = in_dtype(part->tensor, DType::kFloat32);
  return wide;
}

const Part& Attention::like(const OpDef& op) const {
  if (&op == &ops::kAttention) return dy;
  if (&op == &ops::kAttentionLogSum) return log_sum;
  return &op == &ops::kAttentionQueryGradient ? q : &op == &ops::kAttentionKeyGradient ? k : v;
}

HostTensor Attention::run(Backend& backend, const OpDef& op) const {
  return call_kernel(backend, op, operands(op), attrs, like(op).tensor.type, like(op).region);
}

Together::Together(Backend& backend, const Attention& x, const std::vector<const OpDef*>& ops)
    : stream(backend.device().make_stream()) {
  Device& device = backend.device();
  const auto view_of = [&](const Part& part) {
    memory.push_back(device.allocate(num_bytes(part.tensor.type) + 1));
    return TensorView{part.tensor.type, part.region, memory.back().get()};
  };
  std::vector<std::size_t> operands;
  for (const Part& part : x.operands(*ops.front())) {
    operands.push_back(operands.size());
    group.inputs.push_back(view_of(part));
    upload(device, *stream, group.inputs.back().data, part.tensor.bytes.data(),
           num_bytes(part.tensor.type));
  }
  for (const OpDef* const op : ops) {
    group.members.push_back({op->name, x.attrs, operands, view_of(x.like(*op)), true});
  }
  memory.push_back(device.allocate(backend.fusion_workspace(group) + 1));
  group.workspace = memory.back().get();
}

std::vector<HostTensor> Together::results(Backend& backend) const {
  std::vector<HostTensor> results;
  for (const FusionGroup::Member& member : group.members) {
    HostTensor& result = results.emplace_back(host_tensor(member.output.type));
    download(backend.device(), *stream, result.bytes.data(), member.output.data,
             num_bytes(member.output.type));
  }
  return results;
}

}  // namespace meshwork::testing
