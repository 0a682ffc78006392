#include "device/tree_sum.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "base/check.h"

namespace meshwork {
namespace {

/// The tree of `count` leaves as the text of its additions: 3 -> "((0+1)+2)".
std::string tree(int first, int count) {
  if (count == 1) return std::to_string(first);
  int half = 1;
  while (2 * half < count) half *= 2;
  return "(" + tree(first, half) + "+" + tree(first + half, count - half) + ")";
}

/// Adds in the order of such a text.
float evaluate(const std::string& text, std::size_t& at, const std::vector<float>& leaves) {
  if (text[at] != '(') {
    std::size_t digits = 0;
    const int leaf = std::stoi(text.substr(at), &digits);
    at += digits;
    return leaves[static_cast<std::size_t>(leaf)];
  }
  ++at;
  const float left = evaluate(text, at, leaves);
  ++at;
  const float right = evaluate(text, at, leaves);
  ++at;
  return left + right;
}

float leaf(int input, int element) {
  const float scale = (input * 7 + element) % 3 == 0 ? 1e8F
                      : (input + element) % 2 == 0   ? -1e7F
                                                     : 0.3F;
  return scale * static_cast<float>(1 + (input + element) % 5);
}

}  // namespace

TEST_CASE("tree_reduce: the order is the one that the contract prints") {
  CHECK(tree(0, 3) == "((0+1)+2)");
  CHECK(tree(0, 5) == "(((0+1)+(2+3))+4)");
  CHECK(tree(0, 8) == "(((0+1)+(2+3))+((4+5)+(6+7)))");
  for (int n = 1; n <= 33; ++n) {
    const int count = 1500;  // more than one block, and a rest
    std::vector<std::vector<float>> data(static_cast<std::size_t>(n));
    std::vector<const void*> inputs;
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < count; ++i) data[static_cast<std::size_t>(j)].push_back(leaf(j, i));
      inputs.push_back(data[static_cast<std::size_t>(j)].data());
    }
    std::vector<float> out(count);
    tree_reduce(inputs, out.data(), count, DType::kFloat32, Reduction::kSum);
    int wrong = 0;
    for (int i = 0; i < count; ++i) {
      std::vector<float> leaves;
      for (int j = 0; j < n; ++j) leaves.push_back(leaf(j, i));
      std::size_t at = 0;
      wrong += evaluate(tree(0, n), at, leaves) == out[static_cast<std::size_t>(i)] ? 0 : 1;
    }
    CHECK_MESSAGE(wrong == 0, n);
  }
}

TEST_CASE("tree_reduce: subtrees that are reduced by themselves change no bit") {
  constexpr std::int64_t kCount = 1500;
  for (int size = 1; size <= 17; ++size) {
    std::vector<std::vector<float>> leaves;
    std::vector<const void*> all;
    for (int i = 0; i < size; ++i) {
      leaves.emplace_back();
      for (int e = 0; e < kCount; ++e) leaves.back().push_back(leaf(i, e));
    }
    for (const auto& one : leaves) all.push_back(one.data());
    std::vector<float> right(kCount), out(kCount);
    tree_reduce(all, right.data(), kCount, DType::kFloat32, Reduction::kSum);
    for (int near = 1; near <= size; ++near) {  // on a machine, by turns with another
      CAPTURE(size);
      CAPTURE(near);
      std::vector<Subtree> subtrees;
      for (const bool first : {true, false}) {
        const auto some = whole_subtrees(size, [&](int i) { return (i / near % 2 == 0) == first; });
        subtrees.insert(subtrees.end(), some.begin(), some.end());
      }
      std::ranges::sort(subtrees, {}, &Subtree::first);
      std::vector<std::vector<float>> parts;
      std::vector<const void*> inputs;
      int end = 0;
      for (const Subtree& subtree : subtrees) {
        CHECK(subtree.first == end);
        end += subtree.leaves;
        const std::span own = std::span(all).subspan(static_cast<std::size_t>(subtree.first),
                                                     static_cast<std::size_t>(subtree.leaves));
        tree_reduce(own, parts.emplace_back(kCount).data(), kCount, DType::kFloat32,
                    Reduction::kSum);
      }
      CHECK(end == size);
      for (const auto& part : parts) inputs.push_back(part.data());
      tree_reduce(inputs, subtrees, out.data(), kCount, DType::kFloat32, Reduction::kSum);
      CHECK(out == right);
    }
  }
}

TEST_CASE("whole subtrees are as few as can be") {
  const auto count = [](int size, int near) {
    return whole_subtrees(size, [&](int i) { return i < near; }).size();
  };
  CHECK(count(8, 8) == 1);
  CHECK(count(8, 4) == 1);
  CHECK(count(8, 3) == 2);  // (0 + 1), 2
  CHECK(count(6, 6) == 1);
  CHECK(count(16, 7) == 3);
  CHECK(count(4, 0) == 0);
}

TEST_CASE("tree_reduce: the result may stand in any of the inputs") {
  for (std::size_t n = 1; n <= 9; ++n) {
    for (std::size_t target = 0; target < n; ++target) {
      std::vector<std::vector<std::int64_t>> data;
      std::vector<const void*> inputs;
      for (std::size_t j = 0; j < n; ++j) data.emplace_back(2100, std::int64_t{1} << j);
      for (const auto& each : data) inputs.push_back(each.data());
      tree_reduce(inputs, data[target].data(), 2100, DType::kInt64, Reduction::kSum);
      CHECK(data[target] == std::vector<std::int64_t>(2100, (std::int64_t{1} << n) - 1));
    }
  }
}

TEST_CASE("tree_reduce: maximum, NaN, wrapping integers, nothing") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (std::size_t n = 2; n <= 7; ++n) {
    for (std::size_t sick = 0; sick < n; ++sick) {
      std::vector<std::vector<float>> data(n, {-infinity, 2.0F});
      data[sick] = {nan, 5.0F};
      std::vector<const void*> inputs;
      for (const auto& each : data) inputs.push_back(each.data());
      std::vector<float> out(2);
      tree_reduce(inputs, out.data(), 2, DType::kFloat32, Reduction::kMax);
      CHECK(std::isnan(out[0]));
      CHECK(out[1] == 5.0F);
    }
  }
  const std::int32_t most = std::numeric_limits<std::int32_t>::max();
  const std::int32_t one = 1;
  const void* pair[] = {&most, &one};
  std::int32_t out = 0;
  tree_reduce(pair, &out, 1, DType::kInt32, Reduction::kSum);
  CHECK(out == std::numeric_limits<std::int32_t>::min());
  tree_reduce(pair, &out, 1, DType::kInt32, Reduction::kMax);
  CHECK(out == most);
  tree_reduce(pair, nullptr, 0, DType::kInt32, Reduction::kMax);
  CHECK_THROWS_AS(tree_reduce(pair, &out, 1, DType::kUInt8, Reduction::kSum), CheckFailure);
}

}  // namespace meshwork
