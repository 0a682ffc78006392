// Products of one form on GPUs: one stack where their matrices stand at equal distances, whichever
// comes first; else one after the other.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "backend/cuda/products/kernels.h"
#include "base/rng.h"
#include "cuda/case_runs.h"
#include "cuda/placed_call.h"
#include "cuda/values.h"
#include "ops/ops.h"
#include "support/equations.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

/// Of each of three products the number of its place.
using Order = std::vector<std::int64_t>;

struct Stack {
  EquationCase equation;
  DType dtype = DType::kFloat32;
  bool shares_x = true;
  bool has_bias = false;
  Order order{0, 1, 2};  ///< of w, of the results, of biases and of x, where they differ
  Order results = order;
};

/// The products in memory of the GPU, in rows: all x, all w, all biases, all results.
class Placed {
 public:
  explicit Placed(const Stack& stack) : stack_(stack), memory_(device().allocate(kRows * kRow)) {
    const EquationCase& e = stack.equation;
    for (std::size_t n = 0; n < stack.order.size(); ++n) {
      const std::int64_t at = stack.order[n];
      std::vector<HostTensor>& mine = operands_.emplace_back();
      FusionGroup& group = groups_.emplace_back();
      group.kind = FusionGroup::Kind::kNode;
      const auto add = [&](const std::string& factors, std::int64_t row, std::int64_t place) {
        const std::uint64_t seed = 10 * static_cast<std::uint64_t>(row + 1);
        mine.push_back(numbers(e.shape(factors), seed + static_cast<std::uint64_t>(place)));
        group.inputs.push_back(bring(mine.back(), row, place));
      };
      add(e.x, 0, stack.shares_x ? 0 : at);
      add(e.w, 1, at);
      if (stack.has_bias) add("n", 2, at);
      const TensorView result = view({stack.dtype, e.shape(e.y)}, 3, stack.results[n]);
      std::vector<std::size_t> numbers_of_operands(group.inputs.size());
      for (std::size_t i = 0; i < group.inputs.size(); ++i) numbers_of_operands[i] = i;
      group.members.push_back({op().name, attrs(), numbers_of_operands, result, true});
    }
    give_scratch();
  }

  /// CHECKs the results, twice.
  void check() const {
    const Launch launch = gpu_backend().bind_passes(groups_, *stream_);
    for (int round = 0; round < 2; ++round) {
      launch();
      for (std::size_t n = 0; n < groups_.size(); ++n) {
        CAPTURE(n);
        const TensorView& view = groups_[n].members.front().output;
        HostTensor result = host_tensor(view.type);
        download(device(), *stream_, result.bytes.data(), view.data, num_bytes(view.type));
        const HostTensor right = call_naive(op(), operands_[n], attrs(), view.type);
        CHECK(difference(result, right, stack_.dtype == DType::kFloat32 ? 0 : 1.0 / 64) == "");
      }
    }
  }

  bool is_one_product() const {
    std::vector<KernelArgs> nodes;
    for (const FusionGroup& group : groups_) {
      nodes.push_back({.inputs = group.inputs,
                       .output = group.members.front().output,
                       .attrs = attrs(),
                       .workspace = group.workspace,
                       .stream = stream_.get(),
                       .target = &device().target()});
    }
    return cuda::products::stack_product(nodes).has_value();
  }

 private:
  static constexpr std::int64_t kRows = 4, kPlace = 256 << 10, kRow = 8 * kPlace;

  static Device& device() { return gpu_backend().device(); }
  const OpDef& op() const { return stack_.has_bias ? ops::kEinsumBias : ops::kEinsum; }
  Attrs attrs() const {
    Attrs attrs{{"equation", stack_.equation.equation()}};
    if (stack_.has_bias) attrs.set("relu", true);
    return attrs;
  }

  /// Whole numbers from -2 to 2.
  HostTensor numbers(const Shape& shape, std::uint64_t seed) const {
    return filled({stack_.dtype, shape}, [&](std::int64_t i) {
      return std::floor(5 * uniform_at(seed, 0, static_cast<std::uint64_t>(i))) - 2;
    });
  }

  TensorView view(const TensorType& type, std::int64_t row, std::int64_t place) const {
    REQUIRE(num_bytes(type) <= kPlace);
    return {type, whole_region(type.shape), memory_.get() + row * kRow + place * kPlace};
  }
  TensorView bring(const HostTensor& tensor, std::int64_t row, std::int64_t place) const {
    const TensorView there = view(tensor.type, row, place);
    upload(device(), *stream_, there.data, tensor.bytes.data(), num_bytes(tensor.type));
    return there;
  }

  /// The scratch that they are told to share, and not a byte more.
  void give_scratch() {
    const std::vector<std::int64_t> begins = gpu_backend().passes_workspace(groups_);
    REQUIRE(begins.size() == groups_.size() + 1);
    scratch_ = device().allocate(begins.back() + 1);
    for (std::size_t n = 0; n < groups_.size(); ++n)
      groups_[n].workspace = scratch_.get() + begins[n];
  }

  Stack stack_;
  std::unique_ptr<Stream> stream_ = device().make_stream();
  std::shared_ptr<std::byte> memory_, scratch_;
  std::vector<FusionGroup> groups_;
  std::vector<std::vector<HostTensor>> operands_;
};

const EquationCase kMatrices{"m k", "k n", "m n", {{"m", 130}, {"n", 48}, {"k", 72}}};

void check(const Stack& stack, bool is_one_product) {
  INFO(stack.equation.equation(), " of ", to_string(stack.dtype));
  const Placed placed(stack);
  CHECK(placed.is_one_product() == is_one_product);
  placed.check();
}

}  // namespace

TEST_CASE("products at equal distances are one stack on a GPU, whichever comes first") {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    for (const bool shares_x : {true, false}) {
      for (const Order& order : {Order{0, 1, 2}, Order{2, 1, 0}, Order{4, 0, 2}}) {
        check({kMatrices, dtype, shares_x, false, order}, true);
      }
    }
  }
}

TEST_CASE("a stack of products may be transposed, or of tensors with more factors") {
  const Extents heads{{"a", 3}, {"b", 40}, {"h", 4}, {"d", 16}, {"k", 64}};
  check({{"a b k", "k h d", "a b h d", heads}}, true);
  check({{"a b h d", "k h d", "a b k", heads}, DType::kBFloat16, false}, true);
  check({{"a b k", "a b h d", "k h d", heads}}, true);
}

TEST_CASE("products of a stack have biases of their own") {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    Stack stack{kMatrices, dtype, true, true, {1, 0, 2}};
    const Placed placed(stack);
    if (has_emulated_cublaslt()) CHECK(placed.is_one_product());
    placed.check();
  }
}

TEST_CASE("products at other distances are computed one after the other") {
  check({kMatrices, DType::kFloat32, true, false, {0, 1, 3}}, false);
  check({kMatrices, DType::kBFloat16, true, false, {0, 1, 2}, {2, 1, 0}}, false);
  check({kMatrices, DType::kFloat32, false, false, {0, 1, 2}, {0, 2, 1}}, false);
}

TEST_CASE("products that are no single ones of cuBLASLt's are computed one after the other") {
  // Element by element, of few rows, stacks themselves, of nothing, and with a copy.
  check({{"m k", "k n", "m n", {{"m", 7}, {"n", 11}, {"k", 13}}}}, false);
  check({{"m k", "k n", "m n", {{"m", 2}, {"n", 77}, {"k", 65}}}}, false);
  check({{"b m k", "b k n", "b m n", {{"b", 3}, {"m", 30}, {"n", 40}, {"k", 50}}}}, false);
  check({{"m k", "k n", "m n", {{"m", 40}, {"n", 30}, {"k", 0}}}}, false);
  check({{"a k b", "k n", "a b n", {{"a", 20}, {"b", 12}, {"n", 40}, {"k", 50}}}}, false);
}
