// A GPU as a device: memory, streams, events, recorded programs.
#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <future>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "base/check.h"
#include "cuda/case_runs.h"
#include "device/cuda/driver.h"
#include "device/cuda/stream.h"
#include "device/cuda/workers.h"
#include "support/errors.h"

using namespace meshwork;
using namespace meshwork::testing;
using meshwork::test::contains;
using meshwork::test::error_of;

namespace {

Device& gpu() { return gpu_backend().device(); }

const cuda::Source kAdd{"add",
                        "KERNEL(add, float* y, const float* x, float term, int64 count) {\n"
                        "  FOR_EACH(i, count) y[i] = x[i] + term;\n"
                        "}\n",
                        ""};

Launch add(Stream& stream, std::byte* y, const std::byte* x, float term, std::int64_t count) {
  return cuda::kernel_launch(cuda::cuda_stream(stream), kAdd, "add", cuda::grid_of(count), y, x,
                             term, count);
}

std::vector<float> read(Stream& stream, const std::byte* from, std::size_t count) {
  std::vector<float> values(count);
  download(gpu(), stream, values.data(), from, static_cast<std::int64_t>(count * sizeof(float)));
  return values;
}

}  // namespace

TEST_CASE("memory of a GPU is zeroed, aligned, and copied") {
  const auto stream = gpu().make_stream();
  constexpr std::int64_t kCount = (std::int64_t{5} << 20U) / 4 + 3;  // more than staging holds
  const auto memory = gpu().allocate(kCount * 4);
  CHECK(reinterpret_cast<std::uintptr_t>(memory.get()) % 256 == 0);
  CHECK(!gpu().reads_host_memory());
  CHECK(read(*stream, memory.get(), kCount) == std::vector<float>(kCount, 0.0F));
  std::vector<float> numbers(kCount);
  std::iota(numbers.begin(), numbers.end(), 1.0F);
  upload(gpu(), *stream, memory.get(), numbers.data(), kCount * 4);
  CHECK(read(*stream, memory.get(), kCount) == numbers);
  CHECK(gpu().allocate(0) != nullptr);
}

TEST_CASE("kernels run in the order of their stream, and of events between streams") {
  const auto first = gpu().make_stream(), second = gpu().make_stream();
  const auto done = gpu().make_event();
  constexpr std::int64_t kCount = 100003;
  const auto memory = gpu().allocate(kCount * 4);
  std::byte* const x = memory.get();
  for (int round = 0; round < 20; ++round) {
    add(*first, x, x, 1, kCount)();
    first->record(*done);
    second->wait_for(*done);
    add(*second, x, x, 2, kCount)();
    second->record(*done);
    first->wait_for(*done);
  }
  CHECK(read(*first, x, kCount) == std::vector<float>(kCount, 60.0F));
}

TEST_CASE("a recorded program is done each time it is launched, and not before") {
  const auto stream = gpu().make_stream(), other = gpu().make_stream();
  const auto fork = gpu().make_event(), join = gpu().make_event();
  constexpr std::int64_t kCount = 1000;
  const auto memory = gpu().allocate(2 * kCount * 4);
  std::byte* const x = memory.get();
  std::byte* const y = x + kCount * 4;
  const Launch one = add(*stream, x, x, 1, kCount), two = add(*other, y, x, 2, kCount);
  const Launch program = stream->recorded([&] {
    one();
    stream->record(*fork);
    other->wait_for(*fork);
    two();
    other->record(*join);
    stream->wait_for(*join);
  });
  CHECK(read(*stream, x, kCount) == std::vector<float>(kCount, 0.0F));
  for (int round = 0; round < 3; ++round) program();
  CHECK(read(*stream, x, kCount) == std::vector<float>(kCount, 3.0F));
  CHECK(read(*stream, y, kCount) == std::vector<float>(kCount, 5.0F));
}

TEST_CASE("kernels that are compiled side by side are each its own, and compiled once") {
  const auto stream = gpu().make_stream();
  cuda::CudaStream& mine = cuda::cuda_stream(*stream);
  constexpr std::int64_t kCount = 300;
  const auto memory = gpu().allocate(kCount * 4);
  std::vector<Launch> launches;
  for (int i = 1; i <= 12; ++i) {
    const cuda::Source source{"add_some",
                              "KERNEL(add_some, float* y, int64 count) {\n"
                              "  FOR_EACH(i, count) y[i] += SOME;\n}\n",
                              "#define SOME " + std::to_string(i) + ".0f\n"};
    launches.push_back(cuda::kernel_launch(mine, source, source.name, cuda::grid_of(kCount),
                                           memory.get(), kCount));
    cuda::Function again = mine.gpu().function(source, source.name);
    CHECK(again.handle() == mine.gpu().function(source, source.name).handle());
  }
  mine.prepare();
  for (const Launch& launch : launches) launch();
  CHECK(read(*stream, memory.get(), kCount) == std::vector<float>(kCount, 78.0F));
}

TEST_CASE("a kernel that does not compile says so when it is waited for") {
  const auto stream = gpu().make_stream();
  cuda::CudaStream& mine = cuda::cuda_stream(*stream);
  const cuda::Source wrong{"wrong", "KERNEL(wrong, float* y) { *y = nothing; }\n", ""};
  const auto function = mine.gpu().function(wrong, "wrong");
  CHECK_THROWS_WITH_AS(function.handle(), doctest::Contains("kernels of 'wrong' do not compile:"),
                       CheckFailure);
  CHECK_THROWS_AS(mine.prepare(), CheckFailure);
  mine.prepare();
  const auto memory = gpu().allocate(4);
  add(*stream, memory.get(), memory.get(), 1, 1)();
  CHECK(read(*stream, memory.get(), 1) == std::vector<float>{1});
}

TEST_CASE("workers take up all work, and leave what is not begun when they end") {
  std::atomic<int> done = 0;
  std::promise<void> last;
  {
    cuda::Workers workers;
    for (int i = 0; i < 100; ++i) {
      workers.add([&] {
        if (++done == 100) last.set_value();
      });
    }
    last.get_future().wait();
    CHECK(done == 100);
  }
  std::promise<void> begun, end;
  {
    std::optional<cuda::Workers> workers(std::in_place);
    std::shared_future<void> until = end.get_future().share();
    workers->add([&, until] {
      begun.set_value();
      until.wait();
      ++done;
    });
    begun.get_future().wait();
    std::thread ending([&] { workers.reset(); });
    end.set_value();
    ending.join();
  }
  CHECK(done == 101);
}

TEST_CASE("what a recording throws leaves the stream as it was") {
  const auto stream = gpu().make_stream();
  const auto memory = gpu().allocate(4);
  CHECK(contains(error_of([&] { stream->recorded([&]() { fail("no such program"); }); }),
                 "no such program"));
  add(*stream, memory.get(), memory.get(), 1, 1)();
  CHECK(read(*stream, memory.get(), 1) == std::vector<float>{1});
}

TEST_CASE("what a stream cannot record is left to single launches") {
  const auto stream = gpu().make_stream();
  const auto memory = gpu().allocate(4);
  const Launch one = add(*stream, memory.get(), memory.get(), 1, 1);
  // The driver forbids to allocate meanwhile.
  const Launch program = stream->recorded([&] {
    gpu().allocate(4);
    one();
  });
  CHECK(program == nullptr);
  one();
  CHECK(read(*stream, memory.get(), 1) == std::vector<float>{1});
}

TEST_CASE("copies between host and GPU wait for their stream alone") {
  const cuda::Source slow{"slow",
                          "KERNEL(slow, uint32* y, int64 count) {\n"
                          "  uint32 x = *y;\n"
                          "  for (int64 i = 0; i < count; ++i) x = x * 1664525u + 1013904223u;\n"
                          "  *y = x;\n"
                          "}\n",
                          ""};
  const auto busy = gpu().make_stream(), stream = gpu().make_stream();
  const auto memory = gpu().allocate(8);
  constexpr std::int64_t kSteps = 300'000'000;
  const Launch work =
      cuda::kernel_launch(cuda::cuda_stream(*busy), slow, "slow", {1, 1}, memory.get(), kSteps);
  const auto numbers = std::vector<float>{1};
  upload(gpu(), *stream, memory.get() + 4, numbers.data(), 4);
  busy->mark(1);
  busy->drain();
  work();
  busy->mark(2);
  upload(gpu(), *stream, memory.get() + 4, numbers.data(), 4);
  CHECK(read(*stream, memory.get() + 4, 1) == numbers);
  CHECK(busy->last_mark() == 1);
  busy->drain();
  CHECK(busy->last_mark() == 2);
}

TEST_CASE("memory that a GPU is short of does not make it a lost one") {
  CHECK(error_of([] {
          cuda::check(CUDA_ERROR_OUT_OF_MEMORY, "copying");
        }).starts_with("1: device cuda: copying: "));
  CHECK(error_of([] {
          cuda::check(CUDA_ERROR_INVALID_VALUE, "copying");
        }).starts_with("4: device cuda: copying: "));
}

TEST_CASE("memory that a GPU has not is an error with both numbers") {
  const std::string error = error_of([] { gpu().allocate(std::int64_t{1} << 50U); });
  CHECK(contains(error, "device memory: 1125899906842624 bytes are needed and "));
  CHECK(contains(error, "use a smaller batch, or shard over more devices"));
}

TEST_CASE("a GPU that is not there is an error with what there is") {
  CHECK(contains(error_of([] { make_cuda_backend(1000); }), "device cuda: there is no GPU 1000"));
}
