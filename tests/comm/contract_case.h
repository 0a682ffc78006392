#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "contract.h"
#include "contract_values.h"

namespace meshwork::test {

using Counts = std::vector<std::int64_t>;
using Kind = CollectiveCall::Kind;

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::kFloat32;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::kInt32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::kInt64;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::kUInt8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return DType::kBFloat16;  // only moved
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
