// Graphs of attention, against plain loops.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "emulated_gpu/cudnn_test_attention.h"
#include "emulated_gpu/luck.h"
#include "emulated_gpu/narrow_floats.h"

namespace emulated_gpu::testing {
namespace {

using Narrow = std::vector<unsigned short>;
using Numbers = std::vector<double>;

float value_of(unsigned short bits, cudnnDataType_t type) {
  return type == CUDNN_DATA_HALF ? from_float16(bits) : from_bfloat16(bits);
}

Narrow random_numbers(const Integers& dims, cudnnDataType_t type, std::uint64_t seed) {
  Narrow numbers(static_cast<std::size_t>(dims[0] * dims[1] * dims[2] * dims[3]));
  for (unsigned short& number : numbers) {
    const float value = static_cast<float>(next_luck(seed) >> 40U) * 0x1p-23F - 1.0F;
    number = type == CUDNN_DATA_HALF ? to_float16(value) : to_bfloat16(value);
  }
  return numbers;
}

Numbers wide(const Narrow& numbers, cudnnDataType_t type) {
  Numbers values;
  for (const unsigned short number : numbers) values.push_back(value_of(number, type));
  return values;
}

/// What stands in memory, in plain loops.
struct Plain {
  Problem p;
  Numbers q, k, v, by_o;
  Numbers o = {}, statistics = {}, by_q = {}, by_k = {}, by_v = {};

  std::size_t at(std::int64_t batch, std::int64_t place, std::int64_t head, bool key) const {
    const std::int64_t places = key ? p.s : p.t, heads = key ? p.keys : p.h;
    const std::int64_t own = key ? head / (p.h / p.keys) : head;
    return static_cast<std::size_t>(((batch * places + place) * heads + own) * p.d);
  }
  double dot(const Numbers& a, std::size_t i, const Numbers& b, std::size_t j) const {
    double sum = 0;
    for (std::size_t c = 0; c < static_cast<std::size_t>(p.d); ++c) sum += a[i + c] * b[j + c];
    return sum;
  }
  void add(Numbers& to, std::size_t i, double factor, const Numbers& from, std::size_t j) const {
    for (std::size_t c = 0; c < static_cast<std::size_t>(p.d); ++c)
      to[i + c] += factor * from[j + c];
  }

  /// One line of scores.
  void compute_line(std::int64_t batch, std::int64_t head, std::int64_t row) {
    const std::size_t query = at(batch, row, head, false);
    const std::int64_t seen = p.causal ? std::min(row + 1, p.s) : p.s;
    Numbers shares;
    double sum = 0;
    for (std::int64_t j = 0; j < seen; ++j) {
      shares.push_back(std::exp(p.scale * dot(q, query, k, at(batch, j, head, true))));
      sum += shares.back();
    }
    statistics[static_cast<std::size_t>((batch * p.h + head) * p.t + row)] = std::log(sum);
    for (std::int64_t j = 0; j < seen; ++j) {
      add(o, query, shares[static_cast<std::size_t>(j)] /= sum, v, at(batch, j, head, true));
    }
    const double delta = dot(by_o, query, o, query);
    for (std::int64_t j = 0; j < seen; ++j) {
      const std::size_t key = at(batch, j, head, true);
      const double share = shares[static_cast<std::size_t>(j)];
      const double by_score = p.scale * share * (dot(by_o, query, v, key) - delta);
      add(by_v, key, share, by_o, query);
      add(by_q, query, by_score, k, key);
      add(by_k, key, by_score, q, query);
    }
  }

  void compute() {
    o.resize(q.size());
    statistics.resize(static_cast<std::size_t>(p.b * p.h * p.t));
    by_q.resize(q.size());
    by_k.resize(k.size());
    by_v.resize(v.size());
    for (std::int64_t batch = 0; batch < p.b; ++batch) {
      for (std::int64_t head = 0; head < p.h; ++head) {
        for (std::int64_t row = 0; row < p.t; ++row) compute_line(batch, head, row);
      }
    }
  }
};

/// What is in memory for a problem, and what is to be there afterwards.
struct Memory {
  Problem p;
  Narrow q = random_numbers(p.queries(), p.type, 1), k = random_numbers(p.others(), p.type, 2);
  Narrow v = random_numbers(p.others(), p.type, 3), by_o = random_numbers(p.queries(), p.type, 4);
  Plain plain{p, wide(q, p.type), wide(k, p.type), wide(v, p.type), wide(by_o, p.type)};
  Array<unsigned short> q_{q}, k_{k}, v_{v}, by_o_{by_o}, o{q.size()};
  Array<unsigned short> by_q{q.size()}, by_k{k.size()}, by_v{v.size()};
  Array<float> statistics{static_cast<std::size_t>(p.b * p.h * p.t)};
  float scale = p.scale, masked = -HUGE_VALF, one = 1.0F;

  explicit Memory(const Problem& problem) : p(problem) { plain.compute(); }

  std::map<std::int64_t, void*> pointers() {
    const auto at = [](const auto& array) { return reinterpret_cast<void*>(array.address()); };
    return {{kQ, at(q_)},     {kK, at(k_)},       {kV, at(v_)},    {kO, at(o)},
            {kDO, at(by_o_)}, {kDQ, at(by_q)},    {kDK, at(by_k)}, {kDV, at(by_v)},
            {kScale, &scale}, {kMasked, &masked}, {kOne, &one},    {kStats, at(statistics)}};
  }
};

/// The largest difference to what should be there.
double error(const Array<unsigned short>& array, cudnnDataType_t type, const Numbers& expected) {
  const Numbers values = wide(array.values(), type);
  double most = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = std::fabs(values[i] - expected[i]);
    most = difference <= most ? most : difference;
  }
  return most;
}

double tolerance(cudnnDataType_t type) { return type == CUDNN_DATA_HALF ? 0.002 : 0.016; }

bool is_judged() { return std::getenv("EMULATED_GPU_CUDNN") != nullptr; }

std::vector<Problem> problems() {
  std::vector<Problem> all;
  for (const cudnnDataType_t type : {CUDNN_DATA_BFLOAT16, CUDNN_DATA_HALF}) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t keys : {4, 2, 1}) {
        all.push_back({.type = type, .keys = keys, .causal = causal, .statistics = keys != 1});
      }
      all.push_back({.type = type, .b = 1, .t = 3, .s = 7, .d = 128, .causal = causal});
    }
  }
  return all;
}

}  // namespace

TEST_CASE("cuDNN computes attention") {
  start();
  const CUstream stream = create_stream();
  cudnnHandle_t const handle = create_handle(stream);
  for (const Problem& p : problems()) {
    CAPTURE(p.type);
    CAPTURE(p.causal);
    CAPTURE(p.keys);
    Memory memory(p);
    const Description plan = exact_plan(handle, forward(p, handle));
    REQUIRE(plan != nullptr);
    REQUIRE(execute(handle, plan, memory.pointers()) == CUDNN_STATUS_SUCCESS);
    memory.scale = memory.masked = 100.0F;  // read already
    REQUIRE(DRIVER(cuStreamSynchronize)(stream) == CUDA_SUCCESS);
    CHECK(error(memory.o, p.type, memory.plain.o) < tolerance(p.type));
    const std::vector<float> statistics = memory.statistics.values();
    for (std::size_t i = 0; p.statistics && i < statistics.size(); ++i) {
      CHECK(std::fabs(statistics[i] - memory.plain.statistics[i]) < 1e-5);
    }
  }
}

TEST_CASE("cuDNN computes gradients of attention") {
  start();
  cudnnHandle_t const handle = create_handle();
  for (const Problem& p : problems()) {
    if (p.keys != p.h) continue;
    CAPTURE(p.type);
    CAPTURE(p.causal);
    Problem with_statistics = p;
    with_statistics.statistics = true;
    Memory memory(p);
    REQUIRE(execute(handle, exact_plan(handle, forward(with_statistics, handle)),
                    memory.pointers()) == CUDNN_STATUS_SUCCESS);
    const Description plan = exact_plan(handle, gradients(p, handle));
    REQUIRE(plan != nullptr);
    const std::int64_t lines = (p.b * p.h * p.t * 4 + 127) / 128 * 128;
    CHECK(workspace(plan) == p.b * p.h * 64 * 128 * 2 + lines + 256);
    REQUIRE(execute(handle, plan, memory.pointers()) == CUDNN_STATUS_SUCCESS);
    const double most = 4 * tolerance(p.type);
    CHECK(error(memory.by_q, p.type, memory.plain.by_q) < most);
    CHECK(error(memory.by_k, p.type, memory.plain.by_k) < most);
    CHECK(error(memory.by_v, p.type, memory.plain.by_v) < most);
  }
}

TEST_CASE("cuDNN's heuristics begin with what is not to be chosen for attention") {
  if (is_judged()) return;  // the real ones give others
  start();
  cudnnHandle_t const handle = create_handle();
  const Problem p;
  Memory memory(p);
  const auto run = [&](Description plan) {
    REQUIRE(execute(handle, plan, memory.pointers()) == CUDNN_STATUS_SUCCESS);
    return memory.o.values();
  };
  int exact = 0, refused = 0, others = 0;
  for (const Choice& choice : choices(forward(p, handle))) {
    const Description made = plan(handle, choice);
    CHECK(choice.is_compiled);
    if (choice.is_exact()) {
      ++(made == nullptr ? refused : exact);
      if (made != nullptr) CHECK(run(made) == run(made));
      continue;
    }
    ++others;
    REQUIRE(made != nullptr);
    CHECK(exact == 0);
    if (choice.has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) {
      CHECK(run(made) != run(made));
    } else {
      run(made);
      CHECK(error(memory.o, p.type, memory.plain.o) > 1.5 * tolerance(p.type));
    }
  }
  CHECK(exact > 0);
  CHECK(refused > 0);
  CHECK(others > 0);
}

TEST_CASE("a plan of cuDNN for attention is made from its text") {
  if (is_judged()) return;  // no texts of the real one are kept
  start();
  cudnnHandle_t const handle = create_handle();
  const Problem p{.causal = true, .statistics = true};
  Memory memory(p);
  const Description made = exact_plan(handle, forward(p, handle));
  const std::string kept = text(made);
  REQUIRE(execute(handle, made, memory.pointers()) == CUDNN_STATUS_SUCCESS);
  const std::vector<unsigned short> o = memory.o.values();
  const std::vector<float> statistics = memory.statistics.values();
  Memory other(p);
  const Description again = plan(handle, kept);
  REQUIRE(again != nullptr);
  CHECK(text(again) == kept);
  CHECK(workspace(again) == workspace(made));
  REQUIRE(execute(handle, again, other.pointers()) == CUDNN_STATUS_SUCCESS);
  CHECK(other.o.values() == o);
  CHECK(other.statistics.values() == statistics);
  for (std::size_t i = 0; i < kept.find(';'); i += 7) {
    std::string damaged = kept;
    damaged[i] = damaged[i] == '1' ? '2' : '1';
    CHECK(plan(handle, damaged) == nullptr);
  }
  for (std::size_t i = 0; i < kept.size(); i += 7) {
    CHECK(plan(handle, kept.substr(0, i)) == nullptr);
  }
}

TEST_CASE("cuDNN rounds what tensor cores multiply, and no float32 between operations") {
  if (is_judged()) return;  // no attention
  start();
  cudnnHandle_t const handle = create_handle();
  const Integers dims{1, 1, 8, 8};
  enum : std::int64_t { kX, kC, kOnes, kProduct, kRest };
  Graph g;
  const auto in_memory = [&](std::int64_t id) {
    return g.in_memory(id, CUDNN_DATA_BFLOAT16, dims, packed(dims));
  };
  const Description x = in_memory(kX);
  const Description sum = g.pointwise(CUDNN_POINTWISE_ADD, {x, g.by_value(kC)}, g.between(dims));
  g.product(sum, in_memory(kOnes), in_memory(kProduct));
  g.pointwise(CUDNN_POINTWISE_SUB, {sum, x}, in_memory(kRest));
  // In bfloat16 x + c is x, 1 or -1 in turn.
  Narrow turns(64, to_bfloat16(1.0F));
  for (std::size_t i = 1; i < turns.size(); i += 2) turns[i] = to_bfloat16(-1.0F);
  const Array<unsigned short> places(turns), ones(Narrow(64, to_bfloat16(1.0F))), product(64),
      rest(64);
  float c = 0x1p-9F;
  const auto at = [](const auto& array) { return reinterpret_cast<void*>(array.address()); };
  REQUIRE(execute(handle, exact_plan(handle, g.finish(handle)),
                  {{kX, at(places)},
                   {kC, &c},
                   {kOnes, at(ones)},
                   {kProduct, at(product)},
                   {kRest, at(rest)}}) == CUDNN_STATUS_SUCCESS);
  CHECK(product.values() == Narrow(64, to_bfloat16(0.0F)));
  CHECK(rest.values() == Narrow(64, to_bfloat16(c)));
}

TEST_CASE("cuDNN has no kernel for attention that is laid out otherwise") {
  if (is_judged()) return;  // the real one takes some, and ends with a fault for others
  start();
  cudnnHandle_t const handle = create_handle();
  const auto takes = [&](const Problem& p) {
    return exact_plan(handle, forward(p, handle)) != nullptr;
  };
  CHECK(takes({.d = 8}));
  CHECK(takes({.d = 128}));
  CHECK_FALSE(takes({.d = 12}));
  CHECK_FALSE(takes({.stride = 2}));
  CHECK_FALSE(takes({.whole = false}));
  CHECK_FALSE(takes({.type = CUDNN_DATA_FLOAT}));
  CHECK_FALSE(takes({.d = 136}));
  CHECK_FALSE(takes({.alignment = 8}));
  CHECK_FALSE(takes({.values = CUDNN_DATA_HALF}));
  CHECK_FALSE(takes({.statistics = true, .interleaved = true}));
}

TEST_CASE("cuDNN refuses operations whose tensors do not fit, and graphs out of order") {
  start();
  cudnnHandle_t const handle = create_handle();
  const auto in_memory = [](Graph& g, std::int64_t id, const Integers& dims) {
    return g.in_memory(id, CUDNN_DATA_BFLOAT16, dims, packed(dims));
  };
  const auto is_refused = [](cudnnBackendDescriptorType_t type,
                             const std::map<cudnnBackendAttributeName_t, Description>& parts) {
    const Description made = create(type);
    for (const auto& [name, part] : parts) set(made, name, std::vector<Description>{part});
    return finalize(made) == CUDNN_STATUS_BAD_PARAM;
  };
  Graph g;
  const Description a = in_memory(g, 1, {1, 4, 8, 16}), b = in_memory(g, 2, {1, 3, 16, 8});
  const Description kind = create(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  set(kind, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  const std::map<cudnnBackendAttributeName_t, Description> product = {
      {CUDNN_ATTR_OPERATION_MATMUL_DESC, kind},
      {CUDNN_ATTR_OPERATION_MATMUL_ADESC, a},
      {CUDNN_ATTR_OPERATION_MATMUL_BDESC, in_memory(g, 3, {1, 2, 16, 8})},
      {CUDNN_ATTR_OPERATION_MATMUL_CDESC, g.between({1, 4, 8, 8})}};
  constexpr auto kProduct = CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR;
  CHECK(is_refused(kProduct, product));  // its kind is not finalized
  REQUIRE(finalize(kind) == CUDNN_STATUS_SUCCESS);
  CHECK_FALSE(is_refused(kProduct, product));
  using Part = std::pair<cudnnBackendAttributeName_t, Description>;
  for (const auto& [name, part] :
       std::vector<Part>{{CUDNN_ATTR_OPERATION_MATMUL_BDESC, b},  // heads
                         {CUDNN_ATTR_OPERATION_MATMUL_BDESC, in_memory(g, 4, {1, 2, 8, 8})},
                         {CUDNN_ATTR_OPERATION_MATMUL_CDESC, g.between({1, 4, 8, 16})}}) {
    auto other = product;
    other[name] = part;
    CHECK(is_refused(kProduct, other));
  }
  CHECK(is_refused(
      CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR,
      {{CUDNN_ATTR_OPERATION_RESHAPE_XDESC, a}, {CUDNN_ATTR_OPERATION_RESHAPE_YDESC, b}}));
  Graph backwards;
  const Description scores = backwards.between({1, 1, 8, 8}, CUDNN_DATA_BFLOAT16);
  const Description q = in_memory(backwards, 1, {1, 1, 8, 8});
  backwards.product(scores, q, in_memory(backwards, 2, {1, 1, 8, 8}));
  backwards.pointwise(CUDNN_POINTWISE_EXP, {in_memory(backwards, 3, {1, 1, 8, 8})}, scores);
  if (!is_judged()) CHECK(choices(backwards.finish(handle)).empty());
}

TEST_CASE("cuDNN enqueues no attention without all places in memory") {
  start();
  cudnnHandle_t const handle = create_handle();
  const Problem p{.causal = true};
  Memory memory(p);
  const Description plan = exact_plan(handle, forward(p, handle));
  REQUIRE(plan != nullptr);
  for (const Id id : {kQ, kK, kV, kO, kScale, kMasked}) {
    auto pointers = memory.pointers();
    pointers.erase(id);
    CHECK(execute(handle, plan, pointers) == CUDNN_STATUS_BAD_PARAM);
    pointers[id] = nullptr;
    CHECK(execute(handle, plan, pointers) == CUDNN_STATUS_BAD_PARAM);
  }
  auto pointers = memory.pointers();
  pointers[kQ] = static_cast<std::byte*>(pointers[kQ]) + 8;
  CHECK(execute(handle, plan, pointers) == CUDNN_STATUS_BAD_PARAM);
  CHECK(execute(handle, plan, memory.pointers()) == CUDNN_STATUS_SUCCESS);
}

TEST_CASE("alone: attention reads what is no memory of the device" * doctest::skip()) {
  start();
  cudnnHandle_t const handle = create_handle();
  const Problem p;
  Memory memory(p);
  alignas(16) static std::array<std::byte, 4096> host{};
  auto pointers = memory.pointers();
  pointers[kV] = host.data();
  CHECK(execute(handle, exact_plan(handle, forward(p, handle)), pointers) == CUDNN_STATUS_SUCCESS);
  CHECK(DRIVER(cuCtxSynchronize)() == CUDA_ERROR_ILLEGAL_ADDRESS);
}
TEST_CASE("attention that reads what is no memory of the device fails the context") {
  const Run run = run_alone("alone: attention reads what is no memory of the device");
  CHECK_MESSAGE(run.passed, run.output);
}

}  // namespace emulated_gpu::testing
