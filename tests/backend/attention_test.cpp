// Attention by tiles against the naive one, where queries and keys fill several tiles.
#include <doctest/doctest.h>

#include <cmath>
#include <utility>

#include "backend/kernel_runner.h"
#include "base/bfloat16.h"
#include "graph/attention_options.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

struct Sizes {
  std::int64_t b, t, g, r, d, s, e;
};

/// Normally distributed, rounded to a dtype.
Tensor normals_of(DType dtype, const Shape& shape, std::uint64_t seed) {
  Tensor result = normals(shape, seed);
  result.type.dtype = dtype;
  if (dtype != DType::kBFloat16) return result;
  for (double& value : result.values) value = BFloat16(static_cast<float>(value));
  return result;
}

/// Operands of a gradient whose log_sum and delta are those of its queries, keys and values.
struct Operands {
  Tensor q, k, v, dy, log_sum, delta;
  std::vector<Tensor> extras;

  Operands(const Sizes& x, const AttentionOptions& options, const Shape& mask,
           DType dtype = DType::kFloat32)
      : q(normals_of(dtype, {x.b, x.t, x.g, x.r, x.d}, 1)),
        k(normals_of(dtype, {x.b, x.s, x.g, x.d}, 2)),
        v(normals_of(dtype, {x.b, x.s, x.g, x.e}, 3)),
        dy(normals_of(dtype, {x.b, x.t, x.g, x.r, x.e}, 4)),
        delta(normals({x.b, x.t, x.g, x.r}, 5)) {
    if (!mask.empty()) {
      extras.push_back(normals(mask, 6));
      for (double& value : extras[0].values) value = value > -0.5 ? 1 : 0;
    }
    if (options.rate != 0) extras.push_back(tensor(DType::kInt64, {}, {12}));
    if (options.shifted) {
      extras.push_back(some_tensor(DType::kInt32, {x.b}, 7));
      for (double& value : extras.back().values) value += 32;
    }
    for (const std::int64_t places : {x.t, x.s}) {
      if (options.segmented) extras.push_back(segments(x.b, places));
    }
    log_sum = run(*make_reference_backend(), "attention_log_sum", with_extras({q, k, v}),
                  delta.type, attention_attrs(options));
  }

  /// Of 37 and more places each.
  static Tensor segments(std::int64_t samples, std::int64_t places) {
    Tensor numbers = tensor(DType::kInt32, {samples, places},
                            std::vector<double>(static_cast<std::size_t>(samples * places)));
    for (std::int64_t i = 0; i < samples * places; ++i) {
      numbers.values[static_cast<std::size_t>(i)] =
          static_cast<double>(i % places / (37 + 20 * (i / places)));
    }
    return numbers;
  }

  std::vector<Tensor> with_extras(std::vector<Tensor> operands) const {
    operands.insert(operands.end(), extras.begin(), extras.end());
    return operands;
  }
};

double greatest_difference(const Tensor& a, const Tensor& b) {
  double greatest = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    greatest =
        std::max(greatest, std::abs(a.values[i] - b.values[i]) / (1 + std::abs(b.values[i])));
  }
  return greatest;
}

void check(std::string_view op, const std::vector<Tensor>& inputs, const TensorType& output,
           const Attrs& attrs, double tolerance) {
  CAPTURE(op);
  CAPTURE(to_string(attrs));
  const Tensor expected = run(*make_reference_backend(), op, inputs, output, attrs);
  const Tensor actual = run(*make_cpu_backend(1), op, inputs, output, attrs);
  CHECK(greatest_difference(actual, expected) < tolerance);
  check_threads(op, inputs, output, attrs);
}

void check_all(const Sizes& sizes, const AttentionOptions& options, const Shape& mask = {},
               double tolerance = 2e-5, DType dtype = DType::kFloat32) {
  const Operands x(sizes, options, mask, dtype);
  const Attrs attrs = attention_attrs(options);
  check("attention", x.with_extras({x.q, x.k, x.v}), x.dy.type, attrs, tolerance);
  check("attention_log_sum", x.with_extras({x.q, x.k, x.v}), x.log_sum.type, attrs, tolerance);
  const auto known = x.with_extras({x.q, x.k, x.v, x.dy, x.log_sum, x.delta});
  check("attention_query_gradient", known, x.q.type, attrs, tolerance);
  check("attention_key_gradient", known, x.k.type, attrs, tolerance);
  check("attention_value_gradient", known, x.v.type, attrs, tolerance);
}

/// What the ops give that are computed together, each after the other in memory.
std::vector<std::vector<float>> run_together(int threads, std::span<const std::string_view> ops,
                                             const std::vector<Tensor>& inputs,
                                             const std::vector<TensorType>& outputs,
                                             const Attrs& attrs) {
  const auto backend = make_cpu_backend(threads);
  FusionGroup group{.kind = FusionGroup::Kind::kSiblings, .inputs = {}, .members = {}};
  std::vector<std::vector<float>> memory;
  std::vector<std::int64_t> step{12};
  std::vector<std::size_t> operands;
  for (const Tensor& input : inputs) {
    operands.push_back(operands.size());
    memory.emplace_back(input.values.begin(), input.values.end());
    std::byte* data = input.type.dtype == DType::kInt64
                          ? reinterpret_cast<std::byte*>(step.data())
                          : reinterpret_cast<std::byte*>(memory.back().data());
    group.inputs.push_back({input.type, whole_region(input.type.shape), data});
  }
  std::vector<std::vector<float>> results;
  for (const TensorType& type : outputs) {
    results.emplace_back(static_cast<std::size_t>(num_elements(type.shape)), -1e9F);
  }
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const TensorView view{outputs[i], whole_region(outputs[i].shape),
                          reinterpret_cast<std::byte*>(results[i].data())};
    group.members.push_back({ops[i], attrs, operands, view, true});
  }
  std::vector<std::byte> workspace(static_cast<std::size_t>(backend->fusion_workspace(group)) + 64);
  group.workspace = workspace.data();
  const auto stream = backend->device().make_stream();
  backend->bind_fusion(group, *stream)();
  return results;
}

/// CHECKs that ops give together, on few and many threads, the bits that each gives alone.
void check_together(std::span<const std::string_view> ops, const std::vector<Tensor>& inputs,
                    const std::vector<TensorType>& outputs, const Attrs& attrs) {
  for (const int threads : {1, 9}) {
    const auto together = run_together(threads, ops, inputs, outputs, attrs);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      CAPTURE(ops[i]);
      const Tensor alone = run(*make_cpu_backend(1), ops[i], inputs, outputs[i], attrs);
      CHECK(std::equal(together[i].begin(), together[i].end(), alone.values.begin(),
                       alone.values.end()));
    }
  }
}

/// The queries from `first` on, as a device holds them that has no others.
Tensor queries_from(const Tensor& x, std::int64_t first, std::int64_t count) {
  Shape shape = x.type.shape;
  Tensor part{{x.type.dtype, shape}, {shape, Shape(shape.size(), 0)}, {}};
  part.region.offset[1] = first;
  part.type.shape[1] = count;
  const std::int64_t line = num_elements(shape) / (shape[0] * shape[1]);
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    const auto begin = x.values.begin() + (b * shape[1] + first) * line;
    part.values.insert(part.values.end(), begin, begin + count * line);
  }
  return part;
}

}  // namespace

TEST_CASE("attention over several tiles is that of all weights") {
  const double scale = 0.3;
  check_all({2, 130, 2, 1, 16, 300, 24}, {.scale = scale});
  check_all({1, 300, 1, 2, 8, 300, 8}, {.scale = scale, .causal = true});
  check_all({1, 200, 2, 1, 8, 600, 8}, {.scale = scale, .window = 70});
  check_all({1, 300, 1, 1, 8, 200, 8}, {.scale = scale, .causal = true, .window = 65});
  check_all({2, 70, 2, 2, 8, 270, 8}, {.scale = scale}, {2, 1, 1, 1, 270});
  check_all({2, 70, 2, 1, 8, 270, 8}, {.scale = scale, .causal = true}, {1, 70, 2, 1, 270});
  check_all({2, 70, 2, 2, 8, 270, 8}, {.scale = scale, .rate = 0.3, .key = 5}, {2, 1, 1, 1, 270});
  check_all({2, 330, 1, 2, 8, 345, 8}, {.scale = scale, .causal = true, .segmented = true});
  check_all({3, 90, 1, 1, 8, 400, 8}, {.scale = scale, .causal = true, .shifted = true});
}

TEST_CASE("attention of bfloat16 rounds weights and results") {
  // A weight of at most 1 by 2^-9, by which a sum of values of some units differs, and the result.
  const auto check_narrow = [](const Sizes& sizes, const AttentionOptions& options,
                               const Shape& mask = {}) {
    check_all(sizes, options, mask, 1.0 / 64, DType::kBFloat16);
  };
  const double scale = 0.3;
  check_narrow({2, 130, 2, 1, 16, 300, 24}, {.scale = scale});
  check_narrow({1, 300, 1, 2, 8, 300, 8}, {.scale = scale, .causal = true});
  check_narrow({1, 200, 2, 1, 8, 600, 8}, {.scale = scale, .window = 70});
  check_narrow({1, 300, 1, 1, 8, 201, 8}, {.scale = scale, .causal = true, .window = 65});
  check_narrow({2, 70, 2, 1, 7, 271, 5}, {.scale = scale, .causal = true}, {1, 70, 2, 1, 271});
  check_narrow({2, 70, 2, 2, 8, 270, 8}, {.scale = scale, .rate = 0.3, .key = 5},
               {2, 1, 1, 1, 270});
  check_narrow({2, 330, 1, 2, 8, 345, 8}, {.scale = scale, .causal = true, .segmented = true});
  check_narrow({3, 90, 1, 1, 8, 400, 8}, {.scale = scale, .causal = true, .shifted = true});
  check_narrow({1, 1, 1, 3, 1, 1, 1}, {.scale = scale});
}

TEST_CASE("a query that sees no key gives zeros, a log_sum that weighs nothing, and no gradient") {
  const Sizes sizes{1, 70, 1, 2, 8, 300, 4};
  Operands x(sizes, {.scale = 0.3}, {1, 70, 1, 2, 300});
  const auto is_blind = [](std::size_t line) { return line % 5 == 0; };
  Tensor& mask = x.extras[0];
  for (std::size_t i = 0; i < mask.values.size(); ++i) mask.values[i] = is_blind(i / 300) ? 0 : 1;
  const Attrs attrs = attention_attrs({.scale = 0.3});
  for (const bool fast : {false, true}) {
    const auto backend = fast ? make_cpu_backend(1) : make_reference_backend();
    const auto give = [&](std::string_view op, const std::vector<Tensor>& inputs,
                          const TensorType& output) {
      return run(*backend, op, x.with_extras(inputs), output, attrs);
    };
    const Tensor y = give("attention", {x.q, x.k, x.v}, x.dy.type);
    x.log_sum = give("attention_log_sum", {x.q, x.k, x.v}, x.log_sum.type);
    const std::vector<Tensor> known{x.q, x.k, x.v, x.dy, x.log_sum, x.delta};
    const Tensor dq = give("attention_query_gradient", known, x.q.type);
    for (std::size_t line = 0; line < x.log_sum.values.size(); ++line) {
      CHECK((x.log_sum.values[line] == static_cast<double>(kNoKeys)) == is_blind(line));
      if (!is_blind(line)) continue;
      for (std::size_t d = 0; d < 4; ++d) CHECK(y.values[line * 4 + d] == 0);
      for (std::size_t d = 0; d < 8; ++d) CHECK(dq.values[line * 8 + d] == 0);
    }
    for (const auto& [op, type] : {std::pair{"attention_key_gradient", x.k.type},
                                   std::pair{"attention_value_gradient", x.v.type}}) {
      const Tensor gradient = give(op, known, type);
      for (const double value : gradient.values) CHECK(std::isfinite(value));
    }
  }
}

TEST_CASE("large scores do not overflow") {
  // Scores of several hundreds are rounded to 3e-5, by which their exponentials differ; gradients
  // are multiplied by the scale.
  check_all({1, 66, 1, 1, 8, 260, 4}, {.scale = 40}, {}, 1e-2);
}

TEST_CASE("queries of a part of the sequence see and drop what those of the whole do") {
  const AttentionOptions options{.scale = 0.4, .causal = true, .window = 90, .rate = 0.2, .key = 3};
  const Operands x({2, 150, 2, 2, 8, 150, 8}, options, {});
  const Attrs attrs = attention_attrs(options);
  const Tensor whole =
      run(*make_cpu_backend(1), "attention", x.with_extras({x.q, x.k, x.v}), x.dy.type, attrs);
  const Tensor expected = queries_from(whole, 70, 50);
  const auto operands = x.with_extras({queries_from(x.q, 70, 50), x.k, x.v});
  for (const bool fast : {false, true}) {
    const auto backend = fast ? make_cpu_backend(1) : make_reference_backend();
    const Tensor part = run(*backend, "attention", operands, expected.type, attrs,
                            {.in_place = -1, .region = expected.region});
    CHECK(greatest_difference(part, expected) < 2e-5);
  }
}

TEST_CASE("ops of attention that are computed together give the bits of each alone") {
  constexpr std::string_view kForward[] = {"attention", "attention_log_sum"};
  constexpr std::string_view kGradients[] = {"attention_query_gradient", "attention_key_gradient",
                                             "attention_value_gradient"};
  for (const AttentionOptions& options :
       std::vector<AttentionOptions>{{.scale = 0.3},
                                     {.scale = 0.3, .causal = true, .rate = 0.2, .key = 4},
                                     {.scale = 0.3, .causal = true, .window = 70}}) {
    const Operands x({2, 130, 2, 2, 8, 300, 16}, options, {2, 1, 1, 1, 300});
    const Attrs attrs = attention_attrs(options);
    check_together(kForward, x.with_extras({x.q, x.k, x.v}), {x.dy.type, x.log_sum.type}, attrs);
    const auto known = x.with_extras({x.q, x.k, x.v, x.dy, x.log_sum, x.delta});
    check_together(kGradients, known, {x.q.type, x.k.type, x.v.type}, attrs);
    check_together(std::span(kGradients).subspan(1), known, {x.k.type, x.v.type}, attrs);
  }
}
