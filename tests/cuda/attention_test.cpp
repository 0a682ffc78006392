// Attention on GPUs against the naive one, where queries and keys fill several tiles.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "cuda/attention_use.h"
#include "cuda/case_runs.h"
#include "ops/ops.h"
#include "support/shared_case.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

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

/// CHECKs that ops give together the bits that each gives alone.
void check_together(const Attention& x, const std::vector<const OpDef*>& together) {
  const Together group(gpu_backend(), x, together);
  gpu_backend().bind_fusion(group.group, *group.stream)();
  const std::vector<HostTensor> results = group.results(gpu_backend());
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

TEST_CASE("gradients of attention on GPUs compute what they need of the result") {
  for (const AttentionOptions& options :
       {AttentionOptions{.scale = kScale, .window = 20}, {.scale = kScale, .causal = true}}) {
    Attention x({2, 70, 3, 2, 20, 70, 40}, options, {}, DType::kBFloat16);
    x.know_result();
    check_all(x, kRounded);
    x.turn_log_sum();
    check_all(x, kRounded);
    check_together(x, {&ops::kAttentionQueryGradient, &ops::kAttentionKeyGradient,
                       &ops::kAttentionValueGradient});
  }
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

TEST_CASE("log_sums of GPUs stand head by head where that is asked for, of a few queries, too") {
  for (const Sizes& sizes : {Sizes{2, 3, 3, 2, 16, 900, 16}, Sizes{3, 70, 2, 3, 16, 70, 8}}) {
    Attention x(sizes, {.scale = kScale}, {}, DType::kBFloat16);
    x.turn_log_sum();
    check_all(x, kRounded);
    check_together(x, {&ops::kAttention, &ops::kAttentionLogSum});
  }
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
