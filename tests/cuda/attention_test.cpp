// Attention on GPUs against the naive one, where queries and keys fill several tiles.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/bfloat16.h"
#include "base/float16.h"
#include "base/rng.h"
#include "cuda/case_runs.h"
#include "graph/attention_options.h"
#include "ops/ops.h"
#include "support/shared_case.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

/// A weight is rounded by 2^-9, by which a sum of values of some units differs, and the result; of
/// float16 by 2^-12.
constexpr double kRounded = 1.0 / 64;
constexpr double kRoundedToFloat16 = 1.0 / 256;

struct Sizes {
  std::int64_t b, t, g, r, d, s, e;
};

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

/// Operands of all ops; log_sum is that of the queries and keys.
struct Attention {
  Attrs attrs;
  Part q, k, v, dy, log_sum, delta;
  std::vector<Part> extras;

  Attention(const Sizes& x, const AttentionOptions& options, const Shape& mask = {},
            DType dtype = DType::kFloat32)
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

  void know_log_sum() {
    Shape lines = q.tensor.type.shape;
    lines.pop_back();
    log_sum = whole_part(call_kernel(*make_reference_backend(), ops::kAttentionLogSum,
                                     in_float32().operands(ops::kAttention), attrs,
                                     {DType::kFloat32, lines}, whole_region(lines)));
  }

  std::vector<Part> operands(const OpDef& op) const {
    std::vector<Part> result{q, k, v};
    if (op.name.ends_with("gradient")) result = {q, k, v, dy, log_sum, delta};
    result.insert(result.end(), extras.begin(), extras.end());
    return result;
  }

  /// The same numbers in float32.
  Attention in_float32() const {
    Attention wide = *this;
    for (Part* const part : {&wide.q, &wide.k, &wide.v, &wide.dy}) {
      part->tensor = in_dtype(part->tensor, DType::kFloat32);
    }
    return wide;
  }

  /// The operand that the result is like.
  const Part& like(const OpDef& op) const {
    if (&op == &ops::kAttention) return dy;
    if (&op == &ops::kAttentionLogSum) return log_sum;
    return &op == &ops::kAttentionQueryGradient ? q : &op == &ops::kAttentionKeyGradient ? k : v;
  }

  HostTensor run(Backend& backend, const OpDef& op) const {
    return call_kernel(backend, op, operands(op), attrs, like(op).tensor.type, like(op).region);
  }
};

const std::vector<const OpDef*>& all_ops() {
  static const std::vector<const OpDef*> list{
      &ops::kAttention, &ops::kAttentionLogSum, &ops::kAttentionQueryGradient,
      &ops::kAttentionKeyGradient, &ops::kAttentionValueGradient};
  return list;
}

void check_all(const Attention& x, double tolerance) {
  static const auto naive = make_reference_backend();
  const Attention wide = x.in_float32();
  CAPTURE(to_string(x.attrs));
  CAPTURE(to_string(x.q.tensor.type));
  CAPTURE(to_string(x.v.tensor.type));
  for (const OpDef* const op : all_ops()) {
    if (!is_asked_for(op->name)) continue;
    CAPTURE(op->name);
    const HostTensor result = x.run(gpu_backend(), *op);
    const HostTensor expected = in_dtype(wide.run(*naive, *op), result.type.dtype);
    CHECK(difference(result, expected, tolerance) == "");
    CHECK(result == x.run(gpu_backend(), *op));
  }
}

void check_all(const Sizes& sizes, const AttentionOptions& options, const Shape& mask = {}) {
  check_all(Attention(sizes, options, mask), 2e-5);
  check_all(Attention(sizes, options, mask, DType::kBFloat16), kRounded);
}

/// What the ops give as one fusion group.
std::vector<HostTensor> run_together(const Attention& x,
                                     const std::vector<const OpDef*>& together) {
  Backend& backend = gpu_backend();
  const std::unique_ptr<Stream> stream = backend.device().make_stream();
  std::vector<std::shared_ptr<std::byte>> memory;
  const auto view_of = [&](const Part& part) {
    memory.push_back(backend.device().allocate(num_bytes(part.tensor.type) + 1));
    return TensorView{part.tensor.type, part.region, memory.back().get()};
  };
  FusionGroup group;
  std::vector<std::size_t> operands;
  for (const Part& part : x.operands(*together.front())) {
    operands.push_back(operands.size());
    group.inputs.push_back(view_of(part));
    upload(backend.device(), *stream, group.inputs.back().data, part.tensor.bytes.data(),
           num_bytes(part.tensor.type));
  }
  for (const OpDef* const op : together) {
    group.members.push_back({op->name, x.attrs, operands, view_of(x.like(*op)), true});
  }
  memory.push_back(backend.device().allocate(backend.fusion_workspace(group) + 1));
  group.workspace = memory.back().get();
  backend.bind_fusion(group, *stream)();
  std::vector<HostTensor> results;
  for (const FusionGroup::Member& member : group.members) {
    HostTensor& result = results.emplace_back(host_tensor(member.output.type));
    download(backend.device(), *stream, result.bytes.data(), member.output.data,
             num_bytes(member.output.type));
  }
  return results;
}

/// CHECKs that ops give together the bits that each gives alone.
void check_together(const Attention& x, const std::vector<const OpDef*>& together) {
  const std::vector<HostTensor> results = run_together(x, together);
  for (std::size_t i = 0; i < together.size(); ++i) {
    CAPTURE(together[i]->name);
    CHECK(results[i] == x.run(gpu_backend(), *together[i]));
  }
}

constexpr double kScale = 0.3;

}  // namespace

TEST_CASE("attention on GPUs over several tiles is that of all weights") {
  check_all({2, 130, 2, 1, 16, 200, 24}, {.scale = kScale});
  check_all({1, 200, 1, 2, 8, 200, 8}, {.scale = kScale, .causal = true});
  check_all({1, 130, 2, 1, 8, 300, 8}, {.scale = kScale, .window = 70});
  check_all({1, 200, 1, 1, 8, 150, 8}, {.scale = kScale, .causal = true, .window = 65});
}

TEST_CASE("attention on GPUs sees what masks, segments and shifts let it see") {
  check_all({2, 70, 2, 2, 8, 130, 8}, {.scale = kScale}, {2, 1, 1, 1, 130});
  check_all({2, 70, 2, 1, 8, 130, 8}, {.scale = kScale, .causal = true}, {1, 70, 2, 1, 130});
  check_all({2, 130, 1, 2, 8, 145, 8}, {.scale = kScale, .causal = true, .segmented = true});
  check_all({3, 70, 1, 1, 8, 200, 8}, {.scale = kScale, .causal = true, .shifted = true});
}

TEST_CASE("attention on GPUs drops the weights that the naive one drops") {
  // As many keys as counters of the generator hold, and not.
  for (const std::int64_t keys : {132, 131}) {
    const AttentionOptions options{.scale = kScale, .rate = 0.3, .key = 5};
    check_all({2, 70, 1, 3, 8, keys, 8}, options, {2, 1, 1, 1, keys});
  }
  check_all({1, 100, 1, 1, 4, 100, 4}, {.scale = kScale, .causal = true, .rate = 0.5, .key = -1});
}

TEST_CASE("attention on GPUs of heads of any width") {
  const auto sizes = [](std::int64_t d, std::int64_t e) { return Sizes{1, 66, 1, 1, d, 70, e}; };
  for (const Sizes& x : {sizes(64, 64), sizes(33, 31), sizes(80, 96), sizes(128, 100), sizes(65, 7),
                         sizes(200, 256), sizes(260, 5), sizes(3, 515)}) {
    check_all(Attention(x, {.scale = 1.0 / std::sqrt(static_cast<double>(x.d))}), 2e-5);
  }
  for (const Sizes& x : {sizes(64, 64), sizes(40, 80), sizes(128, 100), sizes(260, 520)}) {
    const AttentionOptions options{.scale = 1.0 / std::sqrt(static_cast<double>(x.d))};
    check_all(Attention(x, options, {}, DType::kBFloat16), kRounded);
  }
}

TEST_CASE("attention of float16 on GPUs over several tiles, of narrow and of wide heads") {
  const auto check = [](const Sizes& sizes, const AttentionOptions& options) {
    check_all(Attention(sizes, options, {}, DType::kFloat16), kRoundedToFloat16);
  };
  check({2, 130, 2, 1, 16, 200, 24}, {.scale = kScale, .causal = true, .rate = 0.3, .key = 5});
  check({1, 66, 1, 2, 61, 70, 64}, {.scale = 0.1, .window = 40});
  check({1, 66, 1, 1, 260, 70, 130}, {.scale = 0.06});
}

TEST_CASE("attention on GPUs of one query of many heads to many keys") {
  check_all({3, 1, 2, 5, 16, 400, 16}, {.scale = kScale, .causal = true, .shifted = true});
  check_all({1, 3, 1, 70, 4, 66, 4}, {.scale = kScale});
  // The keys of one block after the other, of which the first see none or the last.
  check_all({1, 2, 1, 1, 8, 1000, 6}, {.scale = kScale, .window = 100, .rate = 0.2, .key = 3});
  check_all({2, 2, 1, 1, 3, 500, 300}, {.scale = kScale}, {2, 2, 1, 1, 500});
}

TEST_CASE("attention on GPUs of nothing gives nothing") {
  const AttentionOptions options{.scale = kScale, .causal = true};
  for (const Sizes& sizes : std::vector<Sizes>{{0, 3, 1, 1, 4, 3, 4},
                                               {1, 0, 1, 1, 4, 3, 4},
                                               {1, 3, 0, 1, 4, 3, 4},
                                               {1, 3, 1, 0, 4, 3, 4},
                                               {1, 3, 1, 1, 0, 3, 4},
                                               {1, 3, 1, 1, 4, 0, 4},
                                               {1, 3, 1, 1, 4, 3, 0}}) {
    check_all(sizes, options);
  }
}

TEST_CASE("a query that sees no key gives zeros, a log_sum that weighs nothing, and no gradient") {
  const Sizes sizes{1, 70, 1, 2, 8, 130, 4};
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    Attention x(sizes, {.scale = kScale}, {1, 70, 1, 2, 130}, dtype);
    const auto is_blind = [](std::size_t line) { return line % 5 == 0; };
    const auto mask = x.extras[0].tensor.as<float>();
    for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = is_blind(i / 130) ? 0 : 1;
    x.know_log_sum();
    check_all(x, dtype == DType::kFloat32 ? 2e-5 : kRounded);
    const HostTensor log_sum = x.run(gpu_backend(), ops::kAttentionLogSum);
    const std::vector<double> y = to_doubles(x.run(gpu_backend(), ops::kAttention));
    const std::vector<double> dq = to_doubles(x.run(gpu_backend(), ops::kAttentionQueryGradient));
    for (std::size_t line = 0; line < log_sum.as<float>().size(); ++line) {
      CHECK((log_sum.as<float>()[line] == kNoKeys) == is_blind(line));
      if (!is_blind(line)) continue;
      for (std::size_t i = 0; i < 4; ++i) CHECK(y[line * 4 + i] == 0);
      for (std::size_t i = 0; i < 8; ++i) CHECK(dq[line * 8 + i] == 0);
    }
  }
}

TEST_CASE("large scores do not overflow on GPUs") {
  // Scores of several hundreds are rounded to 3e-5, by which their exponentials differ; gradients
  // are multiplied by the scale.
  check_all(Attention({1, 66, 1, 1, 8, 130, 4}, {.scale = 40}), 1e-2);
}

TEST_CASE("a query that is not a number gives none on GPUs, and leaves others alone") {
  Attention x({1, 70, 1, 1, 8, 70, 4}, {.scale = kScale});
  const HostTensor before = x.run(gpu_backend(), ops::kAttention);
  x.q.tensor.as<float>()[8 * 3] = std::numeric_limits<float>::quiet_NaN();
  x.q.tensor.as<float>()[8 * 40] = std::numeric_limits<float>::infinity();
  const HostTensor after = x.run(gpu_backend(), ops::kAttention);
  for (std::size_t i = 0; i < 70 * 4; ++i) {
    const bool is_number = i / 4 != 3 && i / 4 != 40;
    CHECK(std::isnan(after.as<float>()[i]) == !is_number);
    if (is_number) CHECK(after.as<float>()[i] == before.as<float>()[i]);
  }
}

TEST_CASE("a query that is not a number leaves gradients of keys alone that it does not see") {
  Attention x({1, 70, 1, 1, 8, 70, 4}, {.scale = kScale, .causal = true});
  x.delta.tensor.as<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  check_all(x, 2e-5);
  const HostTensor dk = x.run(gpu_backend(), ops::kAttentionKeyGradient);
  for (std::size_t i = 0; i < 70 * 8; ++i) CHECK(std::isnan(dk.as<float>()[i]) == (i / 8 <= 3));
}

TEST_CASE("parts of queries, keys and heads see and drop on GPUs what those of the whole do") {
  const AttentionOptions options{.scale = 0.4, .causal = true, .window = 90, .rate = 0.2, .key = 3};
  const Attention whole({2, 150, 2, 2, 8, 150, 8}, options);
  const auto cut_at = [](Attention x, std::size_t dim, std::int64_t offset, std::int64_t extent) {
    for (Part* const part : {&x.q, &x.dy, &x.log_sum, &x.delta}) {
      *part = part_of(part->tensor, dim, offset, extent);
    }
    if (dim == 1 || dim == 3) return x;  // of queries alone
    for (Part* const part : {&x.k, &x.v}) *part = part_of(part->tensor, dim, offset, extent);
    return x;
  };
  check_all(cut_at(whole, 1, 70, 50), 2e-5);
  check_all(cut_at(whole, 0, 1, 1), 2e-5);
  check_all(cut_at(whole, 2, 1, 1), 2e-5);
  check_all(cut_at(whole, 3, 1, 1), 2e-5);
  Attention some_keys = whole;
  for (Part* const part : {&some_keys.k, &some_keys.v}) *part = part_of(part->tensor, 1, 33, 90);
  check_all(some_keys, 2e-5);
}

TEST_CASE("ops of attention that GPUs compute together give the bits of each alone") {
  using List = std::vector<const OpDef*>;
  const auto check_options = [](const AttentionOptions& options, std::int64_t width, DType dtype) {
    const Attention x({1, 70, 2, 2, width, 260, width}, options, {1, 1, 1, 1, 260}, dtype);
    check_together(x, List{&ops::kAttention, &ops::kAttentionLogSum});
    check_together(x, List{&ops::kAttentionQueryGradient, &ops::kAttentionKeyGradient,
                           &ops::kAttentionValueGradient});
    check_together(x, List{&ops::kAttentionValueGradient, &ops::kAttentionKeyGradient});
    check_together(x, List{&ops::kAttentionQueryGradient, &ops::kAttentionValueGradient});
  };
  check_options({.scale = kScale}, 8, DType::kFloat32);
  check_options({.scale = kScale, .causal = true, .rate = 0.2, .key = 4}, 16, DType::kFloat32);
  check_options({.scale = kScale, .causal = true, .window = 70}, 8, DType::kBFloat16);
  check_options({.scale = 0.1, .causal = true}, 130, DType::kFloat32);
}
