// out[i] = ((in[0][i] + in[1][i]) + (in[2][i] + in[3][i])) + ...
#include "device/tree_sum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "base/check.h"

namespace meshwork {
namespace {

// Elements whose partial sums stay in the first-level cache, however many inputs there are.
constexpr std::int64_t kBlock = 1024;

struct Sum {
  template <class T>
  static T combine(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;  // signed overflow is undefined
      return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    } else {
      return a + b;
    }
  }
};

struct Max {
  template <class T>
  static T combine(T a, T b) {
    return a > b || a != a ? a : b;  // a NaN in b is returned too: a > NaN is false
  }
};

// `simd`: out may be one of the inputs, which the compiler need not test for.
template <class Op, class T>
void reduce_2(const T* a, const T* b, T* out, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = Op::combine(a[i], b[i]);
}

template <class Op, class T>
void reduce_3(const T* a, const T* b, const T* c, T* out, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = Op::combine(Op::combine(a[i], b[i]), c[i]);
  }
}

template <class Op, class T>
void reduce_4(const T* a, const T* b, const T* c, const T* d, T* out, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = Op::combine(Op::combine(a[i], b[i]), Op::combine(c[i], d[i]));
  }
}

/// Leaves of the left half of a tree.
int left_leaves(int leaves) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(leaves)) / 2);
}

/// Leaves of the tree, or what has become of subtrees of it.
struct Inputs {
  std::span<const void* const> all;
  std::span<const Subtree> subtrees;  ///< none: each is a leaf

  Inputs part(std::size_t begin, std::size_t end) const {
    return {all.subspan(begin, end - begin),
            subtrees.empty() ? subtrees : subtrees.subspan(begin, end - begin)};
  }

  /// How many of them are in the left half, of two or more.
  std::size_t in_left_half() const {
    if (subtrees.empty()) {
      return static_cast<std::size_t>(left_leaves(static_cast<int>(all.size())));
    }
    const int first = subtrees.front().first;
    const int end = subtrees.back().first + subtrees.back().leaves;
    const int middle = first + left_leaves(end - first);
    std::size_t count = 0;
    while (subtrees[count].first < middle) ++count;
    return count;
  }
};

/// Elements [begin, begin + count) of all inputs into out[0 .. count); count <= kBlock.
template <class Op, class T>
void reduce_block(const Inputs& inputs, std::int64_t begin, std::int64_t count, T* out) {
  const auto in = [&](std::size_t j) { return static_cast<const T*>(inputs.all[j]) + begin; };
  const std::size_t size = inputs.all.size();
  switch (size <= 2 || inputs.subtrees.empty() ? size : 0) {
    case 1:
      if (in(0) != out) std::memcpy(out, in(0), static_cast<std::size_t>(count) * sizeof(T));
      return;
    case 2:
      return reduce_2<Op>(in(0), in(1), out, count);
    case 3:
      return reduce_3<Op>(in(0), in(1), in(2), out, count);
    case 4:
      return reduce_4<Op>(in(0), in(1), in(2), in(3), out, count);
    default: {
      // Both halves end before `out` is written, which may be an input of either.
      const std::size_t half = inputs.in_left_half();
      std::array<T, kBlock> left;
      std::array<T, kBlock> right;
      reduce_block<Op>(inputs.part(0, half), begin, count, left.data());
      reduce_block<Op>(inputs.part(half, size), begin, count, right.data());
      reduce_2<Op>(left.data(), right.data(), out, count);
    }
  }
}

template <class Op, class T>
void reduce_all(const Inputs& inputs, void* out, std::int64_t count) {
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    reduce_block<Op>(inputs, begin, std::min(kBlock, count - begin), static_cast<T*>(out) + begin);
  }
}

template <class Op>
void reduce_all(const Inputs& inputs, void* out, std::int64_t count, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return reduce_all<Op, float>(inputs, out, count);
    case DType::kInt32:
      return reduce_all<Op, std::int32_t>(inputs, out, count);
    case DType::kInt64:
      return reduce_all<Op, std::int64_t>(inputs, out, count);
    default:
      MW_CHECK(false, "no reduction of {}", to_string(dtype));
  }
}

void reduce_all(const Inputs& inputs, void* out, std::int64_t count, DType dtype,
                Reduction reduction) {
  MW_CHECK(!inputs.all.empty());
  if (reduction == Reduction::kSum) return reduce_all<Sum>(inputs, out, count, dtype);
  reduce_all<Max>(inputs, out, count, dtype);
}

void add_whole_subtrees(Subtree tree, const std::function<bool(int)>& has,
                        std::vector<Subtree>& subtrees) {
  int count = 0;
  for (int leaf = tree.first; leaf < tree.first + tree.leaves; ++leaf) count += has(leaf) ? 1 : 0;
  if (count == 0) return;
  if (count == tree.leaves) return subtrees.push_back(tree);
  const int left = left_leaves(tree.leaves);
  add_whole_subtrees({tree.first, left}, has, subtrees);
  add_whole_subtrees({tree.first + left, tree.leaves - left}, has, subtrees);
}

}  // namespace

void tree_reduce(std::span<const void* const> inputs, void* out, std::int64_t count, DType dtype,
                 Reduction reduction) {
  reduce_all({inputs, {}}, out, count, dtype, reduction);
}

void tree_reduce(std::span<const void* const> inputs, std::span<const Subtree> subtrees, void* out,
                 std::int64_t count, DType dtype, Reduction reduction) {
  MW_CHECK(inputs.size() == subtrees.size());
  reduce_all({inputs, subtrees}, out, count, dtype, reduction);
}

std::vector<Subtree> whole_subtrees(int leaves, const std::function<bool(int)>& has) {
  std::vector<Subtree> subtrees;
  add_whole_subtrees({0, leaves}, has, subtrees);
  return subtrees;
}

}  // namespace meshwork
