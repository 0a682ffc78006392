#include "contract.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace meshwork::test {
namespace {

using Counts = std::vector<std::int64_t>;

/// Any value of member `rank` in call `call`: all members can tell what the others send.
std::uint32_t hash(int rank, std::int64_t index, int call) {
  auto x = static_cast<std::uint64_t>(index) * 0x9E3779B97F4A7C15U;
  x ^= (static_cast<std::uint64_t>(rank) + 1) * 0xC2B2AE3D27D4EB4FU;
  x ^= (static_cast<std::uint64_t>(call) + 1) * 0x165667B19E3779F9U;
  x ^= x >> 29U;
  x *= 0xBF58476D1CE4E5B9U;
  return static_cast<std::uint32_t>(x >> 32U);
}

template <class T>
T value(int rank, std::int64_t index, int call) {
  const std::uint32_t bits = hash(rank, index, call);
  if constexpr (std::is_same_v<T, float>) {
    // Magnitudes whose sums depend on their order.
    constexpr std::array<float, 8> kScales{1e8F, -1e8F, 1.0F, 0.1F, -3.0F, 1e-3F, 1e4F, -1e4F};
    return kScales[bits % 8] * (1.0F + static_cast<float>((bits >> 8U) % 3));
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<T>((std::uint64_t{bits} << 32U) ^ hash(rank, index, call + 77));
  } else {
    return static_cast<T>(bits);
  }
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
  if constexpr (std::is_same_v<T, float>) {
    if (reduction == Reduction::kSum) return a + b;
    if (a != a || b != b) return std::numeric_limits<float>::quiet_NaN();
    return std::max(a, b);
  } else {
    if (reduction == Reduction::kMax) return std::max(a, b);
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  }
}

/// Pairs of neighbours, level by level; an odd one goes up as it is.
template <class T>
T reference(std::vector<T> level, Reduction reduction) {
  while (level.size() > 1) {
    std::vector<T> next;
    for (std::size_t i = 0; i < level.size(); i += 2) {
      next.push_back(i + 1 < level.size() ? combine(level[i], level[i + 1], reduction) : level[i]);
    }
    level = next;
  }
  return level[0];
}

template <class T>
std::vector<T> values(int rank, std::int64_t count, int call) {
  std::vector<T> result(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    result[static_cast<std::size_t>(i)] = value<T>(rank, i, call);
  }
  return result;
}

/// Elements [begin, begin + count) of the reduction over `size` members.
template <class T>
std::vector<T> reduced(int size, std::int64_t begin, std::int64_t count, int call,
                       Reduction reduction) {
  std::vector<T> result(static_cast<std::size_t>(count));
  std::vector<T> level(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < count; ++i) {
    for (int r = 0; r < size; ++r) {
      level[static_cast<std::size_t>(r)] = value<T>(r, begin + i, call);
    }
    result[static_cast<std::size_t>(i)] = reference(level, reduction);
  }
  return result;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

std::int64_t sum(const Counts& counts) {
  std::int64_t result = 0;
  for (const std::int64_t count : counts) result += count;
  return result;
}

/// The name of a case, for messages.
std::string name(const Communicator& comm, const std::string& what, std::int64_t count) {
  return what + " of " + std::to_string(count) + " on " + std::to_string(comm.rank()) + " of " +
         std::to_string(comm.size());
}

/// Block sizes for `size` members: none, equal, uneven, all with one, with gaps, large and uneven.
std::vector<Counts> block_cases(int size) {
  const auto n = static_cast<std::size_t>(size);
  std::vector<Counts> cases(6, Counts(n, 0));
  cases[1].assign(n, 5);
  for (std::size_t i = 0; i < n; ++i) {
    cases[2][i] = (10 + size - 1 - static_cast<std::int64_t>(i)) / size;  // 10 over n
    cases[4][i] = i % 2 == 0 ? 0 : 700 * static_cast<std::int64_t>(i);
    cases[5][i] = 1500 + 8001 * static_cast<std::int64_t>((i + 1) % 3);
  }
  cases[3][n - 1] = 1234;
  return cases;
}

template <class T>
void all_reduce_case(Communicator& comm, std::int64_t count, Reduction reduction, int call) {
  const auto expected = reduced<T>(comm.size(), 0, count, call, reduction);
  const auto send = values<T>(comm.rank(), count, call);
  std::vector<T> recv(send.size(), T{1});
  comm.all_reduce(send.data(), recv.data(), count, dtype_of<T>(), reduction);
  CHECK_MESSAGE(same_bits(recv, expected), name(comm, "all_reduce", count));
  CHECK_MESSAGE(same_bits(send, values<T>(comm.rank(), count, call)), name(comm, "send", count));
  auto in_place = send;
  comm.all_reduce(in_place.data(), in_place.data(), count, dtype_of<T>(), reduction);
  CHECK_MESSAGE(same_bits(in_place, expected), name(comm, "all_reduce in place", count));
}

/// One member sends NaN, in turn, or two numbers far apart.
void check_special_values(Communicator& comm) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int sick = 0; sick < comm.size(); ++sick) {
    std::vector<float> data(40, static_cast<float>(comm.rank()));
    if (comm.rank() == sick) std::fill(data.begin() + 8, data.end(), nan);
    std::vector<float> sums = data;
    comm.all_reduce(data.data(), data.data(), 40, DType::kFloat32, Reduction::kMax);
    comm.all_reduce(sums.data(), sums.data(), 40, DType::kFloat32, Reduction::kSum);
    CHECK(data[0] == static_cast<float>(comm.size() - 1));
    CHECK(std::all_of(data.begin() + 8, data.end(), [](float x) { return x != x; }));
    CHECK(std::all_of(sums.begin() + 8, sums.end(), [](float x) { return x != x; }));
  }
  // From left to right 1e8 + 1 - 1e8 + 1 is 1, in the tree (1e8 + 1) + (-1e8 + 1) it is 0.
  if (comm.size() != 4) return;
  const std::array<float, 4> terms{1e8F, 1.0F, -1e8F, 1.0F};
  float result = 0;
  comm.all_reduce(&terms[static_cast<std::size_t>(comm.rank())], &result, 1, DType::kFloat32,
                  Reduction::kSum);
  CHECK(result == 0.0F);
}

template <class T>
void reduce_scatter_case(Communicator& comm, const Counts& counts, Reduction reduction, int call) {
  const auto me = static_cast<std::size_t>(comm.rank());
  const std::int64_t begin = sum(Counts(counts.begin(), counts.begin() + comm.rank()));
  const auto send = values<T>(comm.rank(), sum(counts), call);
  std::vector<T> recv(static_cast<std::size_t>(counts[me]), T{1});
  comm.reduce_scatter(send.data(), recv.data(), counts, dtype_of<T>(), reduction);
  CHECK_MESSAGE(same_bits(recv, reduced<T>(comm.size(), begin, counts[me], call, reduction)),
                name(comm, "reduce_scatter", sum(counts)));
}

template <class T>
void all_gather_case(Communicator& comm, const Counts& counts, int call) {
  const auto send = values<T>(comm.rank(), counts[static_cast<std::size_t>(comm.rank())], call);
  std::vector<T> recv(static_cast<std::size_t>(sum(counts)), T{1});
  comm.all_gather(send.data(), recv.data(), counts, dtype_of<T>());
  std::vector<T> expected;
  for (int r = 0; r < comm.size(); ++r) {
    const auto block = values<T>(r, counts[static_cast<std::size_t>(r)], call);
    expected.insert(expected.end(), block.begin(), block.end());
  }
  CHECK_MESSAGE(same_bits(recv, expected), name(comm, "all_gather", sum(counts)));
}

/// Elements that `from` sends to `to`.
std::int64_t exchanged(int from, int to, std::int64_t scale) {
  return (from * 3 + to * 5) % 4 * scale;
}

template <class T>
void all_to_all_case(Communicator& comm, std::int64_t scale, int call) {
  const int me = comm.rank();
  Counts send_counts;
  Counts recv_counts;
  std::vector<T> expected;
  for (int r = 0; r < comm.size(); ++r) {
    send_counts.push_back(exchanged(me, r, scale));
    recv_counts.push_back(exchanged(r, me, scale));
    std::int64_t before = 0;
    for (int to = 0; to < me; ++to) before += exchanged(r, to, scale);
    for (std::int64_t i = 0; i < recv_counts.back(); ++i) {
      expected.push_back(value<T>(r, before + i, call));
    }
  }
  const auto send = values<T>(me, sum(send_counts), call);
  std::vector<T> recv(expected.size(), T{1});
  comm.all_to_all(send.data(), send_counts, recv.data(), recv_counts, dtype_of<T>());
  CHECK_MESSAGE(same_bits(recv, expected), name(comm, "all_to_all", scale));
}

using Kind = CollectiveCall::Kind;

/// Room for the buffers of one case: two of 70001 elements twice, for each of eight members.
constexpr std::int64_t kCaseBytes = std::int64_t{12} << 20U;

/// A prepared call with data of its own, and what it is to give.
template <class T>
class PreparedCase {
 public:
  /// `memory` is where the buffers are to be, if it is not null; else in memory of their own.
  PreparedCase(Communicator& comm, Kind kind, std::int64_t scale, bool in_place,
               std::shared_ptr<std::byte> memory)
      : comm_(comm), scale_(scale), memory_(std::move(memory)) {
    const int me = comm.rank();
    call_ = {.kind = kind, .dtype = dtype_of<T>(), .count = kind == Kind::kAllReduce ? scale : 0};
    for (int r = 0; kind != Kind::kAllReduce && r < comm.size(); ++r) {
      call_.counts.push_back(kind == Kind::kAllToAll ? exchanged(me, r, scale)
                                                     : scale * ((r + 1) % 3));
      if (kind == Kind::kAllToAll) call_.recv_counts.push_back(exchanged(r, me, scale));
    }
    sent_ = sent_by(me);
    const std::size_t elements = static_cast<std::size_t>(sent_) + expected(0).size();
    if (memory_ == nullptr) {
      memory_ = {new std::byte[elements * sizeof(T) + 1], std::default_delete<std::byte[]>()};
    }
    send_ = reinterpret_cast<T*>(memory_.get());
    recv_ = in_place && kind == Kind::kAllReduce ? send_ : send_ + sent_;
    if (in_place && kind == Kind::kAllGather) send_ = recv_ + before(me);
    call_.send = send_;
    call_.recv = recv_;
    prepared_ = comm.prepare(call_);
  }

  void start(int round) {
    round_ = round;
    const auto data = values<T>(comm_.rank(), sent_, round);
    std::fill_n(recv_, expected(0).size(), T{1});
    std::copy(data.begin(), data.end(), send_);
    prepared_->start();
  }
  bool poll() { return prepared_->poll(); }
  void finish() {
    prepared_->wait();
    CHECK(prepared_->poll());
    const auto right = expected(round_);
    CHECK_MESSAGE(same_bits(std::vector<T>(recv_, recv_ + right.size()), right),
                  name(comm_, "prepared " + std::to_string(static_cast<int>(call_.kind)), sent_));
  }

 private:
  std::int64_t sent_by(int rank) const {
    if (call_.kind == Kind::kAllReduce) return call_.count;
    if (call_.kind == Kind::kAllGather) return call_.counts[static_cast<std::size_t>(rank)];
    return sum(call_.counts);
  }

  std::int64_t before(int rank) const {
    return sum(Counts(call_.counts.begin(), call_.counts.begin() + rank));
  }

  std::vector<T> expected(int round) const {
    const int size = comm_.size();
    const int me = comm_.rank();
    if (call_.kind == Kind::kAllReduce) {
      return reduced<T>(size, 0, call_.count, round, Reduction::kSum);
    }
    if (call_.kind == Kind::kReduceScatter) {
      return reduced<T>(size, before(me), call_.counts[static_cast<std::size_t>(me)], round,
                        Reduction::kSum);
    }
    std::vector<T> all;
    for (int r = 0; r < size; ++r) {
      const auto i = static_cast<std::size_t>(r);
      std::int64_t begin = 0;
      for (int to = 0; to < me && call_.kind == Kind::kAllToAll; ++to) {
        begin += exchanged(r, to, scale_);
      }
      const std::int64_t count =
          call_.kind == Kind::kAllToAll ? call_.recv_counts[i] : call_.counts[i];
      for (std::int64_t k = 0; k < count; ++k) all.push_back(value<T>(r, begin + k, round));
    }
    return all;
  }

  Communicator& comm_;
  std::int64_t scale_;
  CollectiveCall call_;
  std::int64_t sent_ = 0;
  std::shared_ptr<std::byte> memory_;
  T* send_ = nullptr;
  T* recv_ = nullptr;
  std::unique_ptr<PreparedCall> prepared_;
  int round_ = 0;
};

/// Calls of all kinds and of sizes below and above what travels in one piece, several at a time;
/// some are polled, others only waited for, in another order than they were started. Their buffers
/// stand one after the other in `memory`, if it is not null.
void check_prepared_together(Communicator& comm, const std::shared_ptr<std::byte>& memory) {
  std::vector<std::unique_ptr<PreparedCase<float>>> cases;
  for (const Kind kind :
       {Kind::kAllReduce, Kind::kReduceScatter, Kind::kAllGather, Kind::kAllToAll}) {
    for (const std::int64_t scale : {0, 3, 341, 5003, 70001}) {
      const bool gathers_apart = kind == Kind::kAllGather && scale == 5003;
      const bool in_place =
          scale > 0 && !gathers_apart && (kind == Kind::kAllReduce || kind == Kind::kAllGather);
      std::shared_ptr<std::byte> place;
      if (memory) place = {memory, memory.get() + cases.size() * kCaseBytes};
      cases.push_back(std::make_unique<PreparedCase<float>>(comm, kind, scale, in_place, place));
    }
  }
  PreparedCase<std::int64_t> integers(comm, Kind::kAllReduce, 2049, true, nullptr);
  for (int round = 1; round <= 4; ++round) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      cases[i]->start(round * 100 + static_cast<int>(i));
      if ((i + static_cast<std::size_t>(comm.rank())) % 3 == 0) cases[i / 2]->poll();
    }
    integers.start(round);
    comm.barrier();  // other calls go on beside them
    while (round % 2 == 0 && !integers.poll()) {
    }
    for (std::size_t i = cases.size(); i-- > 0;) cases[i]->finish();
    integers.finish();
  }
}

/// Everyone starts and waits in an order of its own.
void check_prepared_in_any_order(Communicator& comm) {
  constexpr int kCalls = 4;
  std::array<std::vector<float>, kCalls> data;
  std::array<std::unique_ptr<PreparedCall>, kCalls> calls;
  for (std::size_t i = 0; i < kCalls; ++i) {
    data[i].resize(i % 2 == 0 ? 3000 : 30);
    const auto count = std::ssize(data[i]);
    calls[i] = comm.prepare({.send = data[i].data(), .recv = data[i].data(), .count = count});
  }
  for (int round = 0; round < 20; ++round) {
    const auto turn = [&](int i) { return static_cast<std::size_t>((i + comm.rank()) % kCalls); };
    std::vector<PreparedCall*> under_way;
    for (int i = 0; i < kCalls; ++i) {
      data[turn(i)].assign(data[turn(i)].size(), static_cast<float>(round));
      calls[turn(i)]->start();
      under_way.push_back(calls[turn(i)].get());
    }
    for (int i = 0; i < kCalls; ++i) {
      calls[turn(i * 3 + round)]->wait(under_way);
    }
    for (const auto& sums : data) CHECK(sums.back() == static_cast<float>(round * comm.size()));
  }
}

/// The sum of 2^rank tells who took part.
void check_members(Communicator& comm, std::int64_t expected, std::int64_t mine) {
  std::int64_t result = 0;
  comm.all_reduce(&mine, &result, 1, DType::kInt64, Reduction::kSum);
  CHECK(result == expected);
}

void check_pairs_and_halves(Communicator& comm) {
  const int size = comm.size();
  const int rank = comm.rank();
  // Neighbours, listed backwards: the higher one becomes rank 0.
  const int low = rank / 2 * 2;
  std::vector<int> pair{low};
  if (low + 1 < size) pair.insert(pair.begin(), low + 1);
  const auto neighbours = comm.group(pair);
  CHECK(neighbours->size() == static_cast<int>(pair.size()));
  CHECK(pair[static_cast<std::size_t>(neighbours->rank())] == rank);
  std::int64_t members = 0;
  for (const int member : pair) members += std::int64_t{1} << member;
  check_members(*neighbours, members, std::int64_t{1} << rank);
  check_all_reduce(*neighbours);
  // A group of a group: even ranks, then their two halves.
  if (rank % 2 != 0) return;
  std::vector<int> even;
  for (int r = 0; r < size; r += 2) even.push_back(r);
  const auto evens = comm.group(even);
  CHECK(evens->size() == (size + 1) / 2);
  std::vector<int> half;
  const bool upper = evens->rank() >= evens->size() / 2;
  for (int r = 0; r < evens->size(); ++r) {
    if ((r >= evens->size() / 2) == upper) half.push_back(r);
  }
  const auto inner = evens->group(half);
  check_reduce_scatter(*inner);
  check_all_gather(*inner);
}

}  // namespace

void check_all_reduce(Communicator& comm) {
  int call = 0;
  for (const std::int64_t count :
       {0, 1, 2, 3, 15, 16, 17, 64, 511, 512, 513, 1023, 1024, 1025, 1031, 4099, 16384, 20011}) {
    for (const Reduction reduction : {Reduction::kSum, Reduction::kMax}) {
      all_reduce_case<float>(comm, count, reduction, ++call);
      all_reduce_case<std::int32_t>(comm, count, reduction, ++call);
      all_reduce_case<std::int64_t>(comm, count, reduction, ++call);
    }
  }
  check_special_values(comm);
}

void check_reduce_scatter(Communicator& comm) {
  int call = 0;
  for (const Counts& counts : block_cases(comm.size())) {
    for (const Reduction reduction : {Reduction::kSum, Reduction::kMax}) {
      reduce_scatter_case<float>(comm, counts, reduction, ++call);
      reduce_scatter_case<std::int32_t>(comm, counts, reduction, ++call);
      reduce_scatter_case<std::int64_t>(comm, counts, reduction, ++call);
    }
  }
}

void check_all_gather(Communicator& comm) {
  int call = 0;
  for (const Counts& counts : block_cases(comm.size())) {
    all_gather_case<float>(comm, counts, ++call);
    all_gather_case<std::int32_t>(comm, counts, ++call);
    all_gather_case<std::int64_t>(comm, counts, ++call);
    all_gather_case<std::uint8_t>(comm, counts, ++call);
    all_gather_case<std::uint16_t>(comm, counts, ++call);
  }
}

void check_all_to_all(Communicator& comm) {
  int call = 0;
  for (const std::int64_t scale : {0, 1, 7, 341, 5003}) {
    all_to_all_case<float>(comm, scale, ++call);
    all_to_all_case<std::int32_t>(comm, scale, ++call);
    all_to_all_case<std::int64_t>(comm, scale, ++call);
    all_to_all_case<std::uint8_t>(comm, scale, ++call);
    all_to_all_case<std::uint16_t>(comm, scale, ++call);
  }
}

void check_broadcast(Communicator& comm) {
  int call = 0;
  for (int root = 0; root < comm.size(); ++root) {
    for (const std::int64_t bytes : {0, 1, 100, 4096, 4097, 100003}) {
      auto data = values<std::uint8_t>(comm.rank(), bytes, ++call);
      comm.broadcast(data.data(), data.size(), root);
      CHECK_MESSAGE(same_bits(data, values<std::uint8_t>(root, bytes, call)),
                    name(comm, "broadcast", bytes));
    }
  }
}

void check_groups(Communicator& comm) {
  check_pairs_and_halves(comm);
  // Two groups of the same members do not mix, nor does what is done between on the whole.
  std::vector<int> backwards;
  for (int r = comm.size(); r-- > 0;) backwards.push_back(r);
  const auto first = comm.group(backwards);
  const auto second = comm.group(backwards);
  CHECK(first->rank() == comm.size() - 1 - comm.rank());
  for (int i = 0; i < 20; ++i) {
    check_members(*first, std::int64_t{comm.size()} * i, i);
    check_members(*second, std::int64_t{comm.size()} * 3, 3);
    check_members(comm, std::int64_t{comm.size()} * 5, 5);
  }
  all_reduce_case<float>(*second, 5000, Reduction::kSum, 1);
  // Made and dropped again and again, of the last members only.
  if (comm.rank() >= comm.size() / 2) {
    std::vector<int> upper;
    for (int r = comm.size() / 2; r < comm.size(); ++r) upper.push_back(r);
    for (int i = 0; i < 10; ++i) {
      const auto group = comm.group(upper);
      check_members(*group, group->size(), 1);
    }
  }
  comm.barrier();
}

void check_prepared(Communicator& comm) {
  check_prepared_together(comm, nullptr);
  check_prepared_together(comm, comm.allocate(20 * kCaseBytes));
  check_prepared_in_any_order(comm);
  // Each row and each column of a mesh, at once.
  const int rank = comm.rank();
  const int rows = comm.size() % 2 == 0 ? 2 : 1;
  const int columns = comm.size() / rows;
  std::vector<int> row;
  std::vector<int> column;
  for (int c = 0; c < columns; ++c) row.push_back(rank / columns * columns + c);
  for (int r = 0; r < rows; ++r) column.push_back(r * columns + rank % columns);
  // A group has the memory that its members were given before, by the whole.
  const auto memory = comm.allocate(1 << 20);
  const auto row_group = comm.group(row);
  const auto column_group = comm.group(column);
  PreparedCase<float> along_row(*row_group, Kind::kAllReduce, 20011, true, memory);
  PreparedCase<float> along_column(*column_group, Kind::kAllToAll, 5003, false, nullptr);
  PreparedCase<float> small(*column_group, Kind::kAllReduce, 2, false, nullptr);
  for (int round = 0; round < 50; ++round) {
    along_row.start(round);
    along_column.start(round);
    small.start(round);
    along_column.poll();
    small.finish();
    along_row.finish();
    along_column.finish();
  }
}

void check_repeated_calls(Communicator& comm, int rounds) {
  int wrong = 0;
  const int size = comm.size();
  std::vector<std::int32_t> send(4096);
  std::vector<std::int32_t> recv(send.size() * static_cast<std::size_t>(size));
  for (int round = 0; round < rounds; ++round) {
    // Sizes below and above what travels in one piece, alike on all.
    const std::int64_t count = hash(99, round, 1) % (round % 7 == 0 ? 4096 : 40) + 1;
    std::fill_n(send.begin(), count, comm.rank() + round);
    const std::int32_t total = size * (size - 1) / 2 + size * round;
    const Counts counts(static_cast<std::size_t>(size), count);
    if (round % 3 == 0) {
      comm.all_gather(send.data(), recv.data(), counts, DType::kInt32);
      for (int r = 0; r < size; ++r) {
        wrong += recv[static_cast<std::size_t>((r + 1) * count - 1)] == r + round ? 0 : 1;
      }
    } else if (round % 11 == 0) {
      comm.broadcast(send.data(), static_cast<std::size_t>(count) * 4, round % size);
      wrong += send[static_cast<std::size_t>(count - 1)] == round % size + round ? 0 : 1;
    } else {
      comm.all_reduce(send.data(), recv.data(), count, DType::kInt32, Reduction::kSum);
      wrong += std::all_of(recv.begin(), recv.begin() + count,
                           [&](std::int32_t x) { return x == total; })
                   ? 0
                   : 1;
    }
    std::fill_n(send.begin(), count, -1);
  }
  CHECK(wrong == 0);
}

void check_contract(Communicator& comm) {
  check_all_reduce(comm);
  check_reduce_scatter(comm);
  check_all_gather(comm);
  check_all_to_all(comm);
  check_broadcast(comm);
  check_prepared(comm);
  comm.barrier();
  check_groups(comm);
  // Beyond any chunk or block in which an implementation may work.
  all_reduce_case<float>(comm, 300007, Reduction::kSum, 5);
  Counts large(static_cast<std::size_t>(comm.size()), 100003);
  large[0] = 200001;
  reduce_scatter_case<float>(comm, large, Reduction::kSum, 6);
  all_gather_case<float>(comm, large, 7);
  check_repeated_calls(comm, 300);
}

}  // namespace meshwork::test
