#include "contract.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <vector>

#include "base/check.h"
#include "contract_case.h"
#include "device/cpu_device.h"

namespace meshwork::test {
namespace {

/// Block sizes for `size` members: none, equal, uneven, with gaps, large and uneven, all with one.
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
  for (std::size_t i = 0; i < n; ++i) cases.emplace_back(n, 0)[i] = i % 2 == 0 ? 5003 : 3;
  return cases;
}

/// What each member sends to each.
std::vector<Counts> exchange(int size, std::int64_t scale) {
  std::vector<Counts> sent(static_cast<std::size_t>(size));
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      sent[static_cast<std::size_t>(from)].push_back((from * 3 + to * 5) % 4 * scale);
    }
  }
  return sent;
}

/// In memory of its own and, of a size that stays there, in `shared`, which others reach.
template <class T>
void check_task(Communicator& comm, const Task& task, const std::shared_ptr<std::byte>& shared,
                int round) {
  Case<T>(comm, task).run(round);
  constexpr std::int64_t kSmall = 500;
  if (shared != nullptr && sum(task.sent[0]) > kSmall) Case<T>(comm, task, shared).run(round);
}

template <class T>
void check_reduction(Communicator& comm, Task task, const std::shared_ptr<std::byte>& shared,
                     int round) {
  for (const Reduction reduction : {Reduction::kSum, Reduction::kMax}) {
    task.reduction = reduction;
    check_task<T>(comm, task, shared, ++round);
  }
}

void check_reductions(Communicator& comm, const Task& task,
                      const std::shared_ptr<std::byte>& shared, int round) {
  check_reduction<float>(comm, task, shared, round);
  check_reduction<std::int32_t>(comm, task, shared, round + 2);
  check_reduction<std::int64_t>(comm, task, shared, round + 4);
}

void check_moves(Communicator& comm, const Task& task, const std::shared_ptr<std::byte>& shared,
                 int round) {
  check_task<float>(comm, task, shared, round);
  check_task<std::int32_t>(comm, task, shared, round + 1);
  check_task<std::int64_t>(comm, task, shared, round + 2);
  check_task<std::uint8_t>(comm, task, shared, round + 3);
  check_task<std::uint16_t>(comm, task, shared, round + 4);
}

template <class T>
void all_reduce(Communicator& comm, std::vector<T>& data, Reduction reduction) {
  run_once(comm, {.send = data.data(),
                  .recv = data.data(),
                  .dtype = dtype_of<T>(),
                  .reduction = reduction,
                  .count = std::ssize(data)});
}

/// One member sends NaN, in turn, or two numbers far apart.
void check_special_values(Communicator& comm) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int sick = 0; sick < comm.size(); ++sick) {
    std::vector<float> data(40, static_cast<float>(comm.rank()));
    if (comm.rank() == sick) std::fill(data.begin() + 8, data.end(), nan);
    std::vector<float> sums = data;
    all_reduce(comm, data, Reduction::kMax);
    all_reduce(comm, sums, Reduction::kSum);
    CHECK(data[0] == static_cast<float>(comm.size() - 1));
    CHECK(std::all_of(data.begin() + 8, data.end(), [](float x) { return x != x; }));
    CHECK(std::all_of(sums.begin() + 8, sums.end(), [](float x) { return x != x; }));
  }
  // From left to right 1e8 + 1 - 1e8 + 1 is 1, in the tree (1e8 + 1) + (-1e8 + 1) it is 0.
  if (comm.size() != 4 || ExactSums::live()) return;
  const std::array<float, 4> terms{1e8F, 1.0F, -1e8F, 1.0F};
  std::vector<float> result{terms[static_cast<std::size_t>(comm.rank())]};
  all_reduce(comm, result, Reduction::kSum);
  CHECK(result[0] == 0.0F);
}

/// Calls of all kinds and of sizes below and above what travels in one piece, several at a time;
/// some are polled, others only waited for, in another order than they were started. Their buffers
/// stand one after the other in `memory`, if it is not null.
void check_all_kinds_together(World& world, const std::shared_ptr<std::byte>& memory) {
  Communicator& comm = *world.devices;
  std::vector<std::unique_ptr<Case<float>>> cases;
  const auto add = [&](const Task& task) {
    std::shared_ptr<std::byte> place;
    if (memory) place = {memory, memory.get() + cases.size() * kCaseBytes};
    cases.push_back(std::make_unique<Case<float>>(comm, task, place));
  };
  for (const std::int64_t scale : {0, 3, 341, 5003, 70001}) {
    Counts blocks;
    for (int r = 0; r < comm.size(); ++r) blocks.push_back(scale * ((r + 1) % 3));
    add({.kind = Kind::kAllReduce, .sent = {{scale}}, .in_place = scale > 0});
    add({.kind = Kind::kReduceScatter, .sent = {blocks}});
    add({.kind = Kind::kAllGather, .sent = {blocks}, .in_place = scale > 0 && scale != 5003});
    add({.kind = Kind::kAllToAll, .sent = exchange(comm.size(), scale)});
  }
  Case<std::int64_t> integers(comm, {.sent = {{2049}}, .in_place = true});
  for (int round = 1; round <= 4; ++round) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      cases[i]->start(round * 100 + static_cast<int>(i));
      if ((i + static_cast<std::size_t>(comm.rank())) % 3 == 0) cases[i / 2]->poll();
    }
    integers.start(round);
    // Other calls go on beside them.
    world.hosts->barrier();
    std::vector<float> ones(5000, 1.0F);
    all_reduce(comm, ones, Reduction::kSum);
    CHECK(ones == std::vector<float>(5000, static_cast<float>(comm.size())));
    while (round % 2 == 0 && !integers.poll()) {
    }
    for (std::size_t i = cases.size(); i-- > 0;) cases[i]->finish();
    integers.finish();
  }
}

/// Each row and each column of a mesh, at once.
void check_rows_and_columns(Communicator& comm) {
  const int rank = comm.rank();
  const int rows = comm.size() % 2 == 0 ? 2 : 1;
  const int columns = comm.size() / rows;
  std::vector<int> row;
  std::vector<int> column;
  for (int c = 0; c < columns; ++c) row.push_back(rank / columns * columns + c);
  for (int r = 0; r < rows; ++r) column.push_back(r * columns + rank % columns);
  // A group has the memory that its members were given before, by the whole.
  const auto memory = comm.allocate(kCaseBytes);
  const auto row_group = comm.group(row);
  const auto column_group = comm.group(column);
  Case<float> along_row(*row_group, {.sent = {{20011}}, .in_place = true}, memory);
  Case<float> along_column(*column_group, {.kind = Kind::kAllToAll, .sent = exchange(rows, 5003)});
  Case<float> small(*column_group, {.sent = {{2}}});
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

/// A stream whose work the host does not do.
class LateStream final : public Stream {
 public:
  bool is_immediate() const override { return false; }
  void copy_to_device(std::byte*, const std::byte*, std::int64_t) override {}
  void copy_to_host(std::byte*, const std::byte*, std::int64_t) override {}
  void copy(std::byte*, const std::byte*, std::int64_t) override {}
  void record(Event&) override {}
  void wait_for(const Event&) override {}
  void drain() noexcept override {}
};

/// What makes no sense is found before anyone waits.
void check_refused(Communicator& comm) {
  LateStream late;
  CHECK_THROWS_AS(comm.prepare({}, late), CheckFailure);
  const auto refused = [&](const CollectiveCall& call) {
    CHECK_THROWS_AS(comm.prepare(call, immediate_stream()), CheckFailure);
  };
  const Counts fits(static_cast<std::size_t>(comm.size()), 0);
  const Counts one_more(fits.size() + 1, 0);
  Counts negative = fits;
  negative[0] = -1;
  for (const DType dtype : {DType::kUInt8, DType::kBFloat16, DType::kFloat16, DType::kFloat64}) {
    refused({.dtype = dtype, .count = 1});
  }
  refused({.count = -1});
  refused({.kind = Kind::kReduceScatter, .counts = one_more});
  refused({.kind = Kind::kAllGather, .counts = negative});
  refused({.kind = Kind::kAllToAll, .counts = fits, .recv_counts = one_more});
}

}  // namespace

Stream& immediate_stream() {
  static const std::unique_ptr<Stream> stream = make_cpu_device({})->make_stream();
  return *stream;
}

void run_once(Communicator& comm, const CollectiveCall& call) {
  const auto prepared = comm.prepare(call, immediate_stream());
  prepared->start();
  prepared->wait();
}

void check_all_reduce(Communicator& comm) {
  const auto shared = comm.allocate(kCaseBytes);
  int round = 0;
  for (const std::int64_t count :
       {0, 1, 2, 3, 15, 16, 17, 64, 511, 512, 513, 1023, 1024, 1025, 1031, 4099, 16384, 20011}) {
    for (const bool in_place : {false, true}) {
      check_reductions(comm, {.sent = {{count}}, .in_place = in_place}, shared, round);
      round += 6;
    }
  }
  check_special_values(comm);
}

void check_reduce_scatter(Communicator& comm) {
  const auto shared = comm.allocate(kCaseBytes);
  int round = 0;
  for (const Counts& counts : block_cases(comm.size())) {
    check_reductions(comm, {.kind = Kind::kReduceScatter, .sent = {counts}}, shared, round);
    round += 6;
  }
}

void check_all_gather(Communicator& comm) {
  const auto shared = comm.allocate(kCaseBytes);
  int round = 0;
  for (const Counts& counts : block_cases(comm.size())) {
    for (const bool in_place : {false, true}) {
      const Task task{.kind = Kind::kAllGather, .sent = {counts}, .in_place = in_place};
      check_moves(comm, task, shared, round);
      round += 5;
    }
  }
}

void check_all_to_all(Communicator& comm) {
  const auto shared = comm.allocate(kCaseBytes);
  int round = 0;
  for (const std::int64_t scale : {0, 1, 7, 341, 5003}) {
    check_moves(comm, {.kind = Kind::kAllToAll, .sent = exchange(comm.size(), scale)}, shared,
                round);
    round += 5;
  }
}

void check_many_at_a_time(World& world) {
  check_all_kinds_together(world, nullptr);
  check_all_kinds_together(world, world.devices->allocate(20 * kCaseBytes));
  check_rows_and_columns(*world.devices);
}

void check_any_order(Communicator& comm) {
  constexpr int kCalls = 4;
  std::array<std::vector<float>, kCalls> data;
  std::array<std::unique_ptr<PreparedCall>, kCalls> calls;
  for (std::size_t i = 0; i < kCalls; ++i) {
    data[i].resize(i % 2 == 0 ? 3000 : 30);
    calls[i] =
        comm.prepare({.send = data[i].data(), .recv = data[i].data(), .count = std::ssize(data[i])},
                     immediate_stream());
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

void check_repeated_calls(Communicator& comm, int rounds) {
  // Sizes below and above what travels in one piece; the next call of a case is others' first.
  std::vector<std::unique_ptr<Case<std::int32_t>>> cases;
  for (int i = 0; i < 12; ++i) {
    const std::int64_t count = hash(99, i, 1) % (i % 4 == 0 ? 4096 : 40) + 1;
    const Task gather{.kind = Kind::kAllGather,
                      .sent = {Counts(static_cast<std::size_t>(comm.size()), count)}};
    const Task reduce{.sent = {{count}}, .in_place = i % 2 == 0};
    cases.push_back(std::make_unique<Case<std::int32_t>>(comm, i % 3 == 0 ? gather : reduce));
  }
  for (int round = 0; round < rounds; ++round) {
    cases[hash(7, round, 1) % cases.size()]->run(round);
  }
}

void check_contract(World& world) {
  check_contract_in_order(world);
  check_any_order(*world.devices);
}

void check_contract_in_order(World& world) {
  Communicator& comm = *world.devices;
  CHECK(comm.size() == world.hosts->size());
  CHECK(comm.rank() == world.hosts->rank());
  check_host_group(*world.hosts);
  check_refused(comm);
  check_all_reduce(comm);
  check_reduce_scatter(comm);
  check_all_gather(comm);
  check_all_to_all(comm);
  check_many_at_a_time(world);
  world.hosts->barrier();
  check_groups(world);
  // Beyond any chunk or block in which an implementation may work.
  const auto shared = comm.allocate(kCaseBytes);
  Counts large(static_cast<std::size_t>(comm.size()), 100003);
  large[0] = 200001;
  check_task<float>(comm, {.sent = {{300007}}}, shared, 5);
  check_task<float>(comm, {.sent = {{300007}}, .in_place = true}, shared, 5);
  check_task<float>(comm, {.kind = Kind::kReduceScatter, .sent = {large}}, shared, 6);
  check_task<float>(comm, {.kind = Kind::kAllGather, .sent = {large}}, shared, 7);
  check_repeated_calls(*world.hosts, 300);
  check_repeated_calls(comm, 300);
}

void check_contract_but_sums(World& world) {
  world.hosts->barrier();
  const ExactSums exact;
  world.hosts->barrier();
  check_contract_in_order(world);
  world.hosts->barrier();
}

}  // namespace meshwork::test
