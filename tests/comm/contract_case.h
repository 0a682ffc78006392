#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "contract.h"

namespace meshwork::test {

using Counts = std::vector<std::int64_t>;
using Kind = CollectiveCall::Kind;

/// Any value of member `rank` in round `round`: all members can tell what the others send.
inline std::uint32_t hash(int rank, std::int64_t index, int round) {
  auto x = static_cast<std::uint64_t>(index) * 0x9E3779B97F4A7C15U;
  x ^= (static_cast<std::uint64_t>(rank) + 1) * 0xC2B2AE3D27D4EB4FU;
  x ^= (static_cast<std::uint64_t>(round) + 1) * 0x165667B19E3779F9U;
  x ^= x >> 29U;
  x *= 0xBF58476D1CE4E5B9U;
  return static_cast<std::uint32_t>(x >> 32U);
}

/// While one lives, floats are whole numbers so small that their sums are exact in any order: for
/// communicators that have not the canonical one.
class ExactSums {
 public:
  ExactSums() { ++living(); }
  ~ExactSums() { --living(); }
  ExactSums(const ExactSums&) = delete;
  ExactSums& operator=(const ExactSums&) = delete;
  static bool live() { return living() > 0; }

 private:
  static std::atomic<int>& living() {
    static std::atomic<int> count{0};
    return count;
  }
};

template <class T>
T value(int rank, std::int64_t index, int round) {
  const std::uint32_t bits = hash(rank, index, round);
  if constexpr (std::is_same_v<T, float>) {
    if (ExactSums::live()) return static_cast<float>(bits % 65536) - 30000;
    // Magnitudes whose sums depend on their order.
    constexpr std::array<float, 8> kScales{1e8F, -1e8F, 1.0F, 0.1F, -3.0F, 1e-3F, 1e4F, -1e4F};
    return kScales[bits % 8] * (1.0F + static_cast<float>((bits >> 8U) % 3));
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<T>((std::uint64_t{bits} << 32U) ^ hash(rank, index, round + 77));
  } else {
    return static_cast<T>(bits);
  }
}

/// `count` values of a member, from element `begin` of what it has.
template <class T>
std::vector<T> values(int rank, std::int64_t begin, std::int64_t count, int round) {
  std::vector<T> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(value<T>(rank, begin + i, round));
  return result;
}

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::kFloat32;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::kInt32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::kInt64;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::kUInt8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return DType::kBFloat16;  // only moved
}

template <class T>
T combine(T a, T b, Reduction reduction) {
  if constexpr (std::is_floating_point_v<T>) {
    if (reduction == Reduction::kSum) return a + b;
    if (a != a || b != b) return std::numeric_limits<T>::quiet_NaN();
    return std::max(a, b);
  } else {
    if (reduction == Reduction::kMax) return std::max(a, b);
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  }
}

/// Pairs of neighbours, level by level; an odd one goes up as it is.
template <class T>
T reference(std::vector<T>& level, Reduction reduction) {
  for (std::size_t n = level.size(); n > 1; n = (n + 1) / 2) {
    for (std::size_t i = 0; i + 1 < n; i += 2) {
      level[i / 2] = combine(level[i], level[i + 1], reduction);
    }
    if (n % 2 != 0) level[n / 2] = level[n - 1];
  }
  return level[0];
}

/// Elements [begin, begin + count) of the reduction over `size` members.
template <class T>
std::vector<T> reduced(int size, std::int64_t begin, std::int64_t count, int round,
                       Reduction reduction) {
  std::vector<T> result;
  std::vector<T> level(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < count; ++i) {
    for (int r = 0; r < size; ++r) {
      level[static_cast<std::size_t>(r)] = value<T>(r, begin + i, round);
    }
    result.push_back(reference(level, reduction));
  }
  return result;
}

inline std::int64_t sum(const Counts& counts) {
  std::int64_t result = 0;
  for (const std::int64_t count : counts) result += count;
  return result;
}

/// A collective as all members know it.
struct Task {
  Kind kind = Kind::kAllReduce;
  std::vector<Counts> sent{};  ///< by member, to each; of kAllReduce and others alike: once
  Reduction reduction = Reduction::kSum;
  bool in_place = false;  ///< of an all-gather: the own block stands in the result
};

/// Room for the buffers of one case.
constexpr std::int64_t kCaseBytes = std::int64_t{12} << 20U;

/// A prepared call with data of its own, and what it is to give.
template <class T>
class Case {
 public:
  /// `memory` of kCaseBytes is where the buffers are to be, if it is not null; else they are in
  /// memory of their own.
  Case(Communicator& comm, Task task, std::shared_ptr<std::byte> memory = nullptr)
      : comm_(comm),
        me_(static_cast<std::size_t>(comm.rank())),
        task_(std::move(task)),
        memory_(std::move(memory)) {
    call_ = {.kind = task_.kind, .dtype = dtype_of<T>(), .reduction = task_.reduction};
    if (task_.kind == Kind::kAllReduce) {
      call_.count = task_.sent[0][0];
    } else {
      call_.counts = sent_by(me_);
    }
    for (std::size_t r = 0; task_.kind == Kind::kAllToAll && r < task_.sent.size(); ++r) {
      call_.recv_counts.push_back(task_.sent[r][me_]);
    }
    sent_ = task_.kind == Kind::kAllGather ? call_.counts[me_] : sum(sent_by(me_));
    received_ = received();
    place();
    prepared_ = comm.prepare(call_, immediate_stream());
  }

  void start(int round) {
    round_ = round;
    std::fill_n(recv_, received_, T{1});
    const auto data = values<T>(comm_.rank(), 0, sent_, round);
    std::copy(data.begin(), data.end(), send_);
    prepared_->start();
  }
  bool poll() { return prepared_->poll(); }
  void finish() {
    prepared_->wait();
    CHECK(prepared_->poll());
    CHECK_MESSAGE(holds(recv_, expected(round_)), name("received"));
    if (!task_.in_place) {
      CHECK_MESSAGE(holds(send_, values<T>(comm_.rank(), 0, sent_, round_)), name("sent"));
    }
    std::fill_n(send_, sent_, T{2});  // nobody reads them any more
    std::fill_n(recv_, received_, T{3});
  }

  void run(int round) {
    start(round);
    finish();
  }

 private:
  const Counts& sent_by(std::size_t member) const {
    return task_.sent.size() == 1 ? task_.sent[0] : task_.sent[member];
  }

  /// Elements of what a member sends before those for `to`.
  std::int64_t before(std::size_t member, std::size_t to) const {
    const Counts& counts = sent_by(member);
    return sum(Counts(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(to)));
  }

  std::int64_t received() const {
    if (task_.kind == Kind::kAllReduce) return sent_;
    if (task_.kind == Kind::kReduceScatter) return call_.counts[me_];
    return sum(task_.kind == Kind::kAllGather ? call_.counts : call_.recv_counts);
  }

  void place() {
    const auto bytes = static_cast<std::size_t>(sent_ + received_) * sizeof(T);
    if (memory_ == nullptr) {
      memory_ = {new std::byte[bytes + 1], std::default_delete<std::byte[]>()};
    } else {
      REQUIRE(bytes <= kCaseBytes);
    }
    send_ = reinterpret_cast<T*>(memory_.get());
    recv_ = send_ + sent_;
    if (task_.in_place && task_.kind == Kind::kAllReduce) recv_ = send_;
    if (task_.in_place && task_.kind == Kind::kAllGather) send_ = recv_ + before(me_, me_);
    call_.send = send_;
    call_.recv = recv_;
  }

  std::vector<T> expected(int round) const {
    if (task_.kind == Kind::kAllReduce) {
      return reduced<T>(comm_.size(), 0, call_.count, round, task_.reduction);
    }
    if (task_.kind == Kind::kReduceScatter) {
      return reduced<T>(comm_.size(), before(me_, me_), call_.counts[me_], round, task_.reduction);
    }
    std::vector<T> all;
    for (int r = 0; r < comm_.size(); ++r) {
      const auto i = static_cast<std::size_t>(r);
      const bool to_each = task_.kind == Kind::kAllToAll;
      const auto block = values<T>(r, to_each ? before(i, me_) : 0,
                                   to_each ? call_.recv_counts[i] : call_.counts[i], round);
      all.insert(all.end(), block.begin(), block.end());
    }
    return all;
  }

  static bool holds(const T* data, const std::vector<T>& right) {
    return right.empty() || std::memcmp(data, right.data(), right.size() * sizeof(T)) == 0;
  }

  std::string name(std::string_view what) const {
    return fmt::format("{} by kind {} of {}{}, round {}, on {} of {}", what,
                       static_cast<int>(task_.kind), sent_, task_.in_place ? " in place" : "",
                       round_, comm_.rank(), comm_.size());
  }

  Communicator& comm_;
  std::size_t me_;
  Task task_;
  CollectiveCall call_;
  std::int64_t sent_ = 0;
  std::int64_t received_ = 0;
  std::shared_ptr<std::byte> memory_;
  T* send_ = nullptr;
  T* recv_ = nullptr;
  std::unique_ptr<PreparedCall> prepared_;
  int round_ = 0;
};

}  // namespace meshwork::test
