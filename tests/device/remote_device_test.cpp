// A device that is not the host: what breaks the rules is caught, and all kernels run on it.
#include "support/remote_device.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "ops/cases.h"
#include "support/errors.h"
#include "support/kernel_call.h"

using namespace meshwork;
using namespace meshwork::testing;
using meshwork::test::contains;
using meshwork::test::error_of;

namespace {

constexpr std::int64_t kCount = 1000;
constexpr std::int64_t kBytes = kCount * 4;

/// A remote device with two streams, and three vectors in its memory.
struct Bench {
  std::unique_ptr<Backend> backend = make_remote_backend(1);
  Device& device = backend->device();
  std::shared_ptr<std::byte> a = device.allocate(kBytes), b = device.allocate(kBytes),
                             c = device.allocate(kBytes);
  std::shared_ptr<std::byte> staging = device.allocate_staging(kBytes);
  std::unique_ptr<Stream> compute = device.make_stream(), copies = device.make_stream();
  std::unique_ptr<Event> event = device.make_event();

  float* staged() const { return reinterpret_cast<float*>(staging.get()); }

  /// c = a + b, on the compute stream.
  Launch sum() const {
    const TensorType type{DType::kFloat32, {kCount}};
    const auto view = [&](const std::shared_ptr<std::byte>& memory) {
      return TensorView{type, whole_region(type.shape), memory.get()};
    };
    return backend->bind(*backend->find("add"),
                         {.inputs = {view(a), view(b)}, .output = view(c), .attrs = {}}, *compute);
  }
};

// Some of the cases race on purpose.
#if defined(__SANITIZE_THREAD__)
constexpr bool kFindsRaces = true;
#else
constexpr bool kFindsRaces = false;
#endif

/// What a process that does this says before it ends with `code`.
template <class Work>
std::string last_words(const Work& work, int code) {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    work();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t got = 0; (got = read(ends[0], part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == code);
  return text;
}

}  // namespace

TEST_CASE("what events order comes out right, however late the streams are") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Bench bench;
    for (std::int64_t i = 0; i < kCount; ++i) bench.staged()[i] = static_cast<float>(i);
    bench.copies->copy_to_device(bench.a.get(), bench.staging.get(), kBytes);
    bench.copies->copy(bench.b.get(), bench.a.get(), kBytes);
    bench.copies->record(*bench.event);
    bench.compute->wait_for(*bench.event);
    bench.sum()();
    std::vector<float> result(kCount);
    download(bench.device, *bench.compute, result.data(), bench.c.get(), kBytes);
    for (std::int64_t i = 0; i < kCount; ++i) {
      REQUIRE(result[static_cast<std::size_t>(i)] == static_cast<float>(2 * i));
    }
  }
}

TEST_CASE("a host that reads or writes device memory is told") {
  for (const bool writes : {false, true}) {
    const std::string words = last_words(
        [&] {
          const auto memory = make_remote_backend(1)->device().allocate(64);
          volatile std::byte* touched = memory.get() + 8;
          if (writes) {
            *touched = std::byte{1};
          } else {
            [[maybe_unused]] const std::byte value = *touched;
          }
        },
        86);
    CHECK(contains(words, "the host touched device memory; the culprit:"));
    CHECK(contains(words, "device_test"));  // the frames
  }
}

TEST_CASE("a missing event is found, whether or not the streams meet") {
  Bench bench;
  bench.copies->copy_to_device(bench.a.get(), bench.staging.get(), kBytes);
  CHECK(contains(error_of([&] { bench.sum()(); }),
                 "no event orders 'add' behind 'copy to the device', and both use the same 4000"));
  bench.copies->record(*bench.event);
  bench.compute->wait_for(*bench.event);
  bench.sum()();
  // The other way round: what is still read is overwritten.
  CHECK(contains(
      error_of([&] { bench.copies->copy_to_device(bench.b.get(), bench.staging.get(), kBytes); }),
      "no event orders 'copy to the device' behind 'add'"));
  // An event that was recorded too early orders nothing.
  bench.copies->wait_for(*bench.event);
  CHECK(contains(error_of([&] { bench.copies->copy(bench.c.get(), bench.a.get(), kBytes); }),
                 "no event orders 'copy' behind 'add'"));
}

TEST_CASE("a read before the copy has arrived sees no number" * doctest::skip(kFindsRaces)) {
  Bench bench;
  bench.staged()[0] = 7;
  bench.compute->copy_to_device(bench.a.get(), bench.staging.get(), 4);
  bench.compute->record(*bench.event);
  bench.event->wait();
  const auto blocked = bench.device.make_event();
  bench.compute->copy_to_host(bench.staging.get(), bench.a.get(), 4);
  // Whether or not the stream has come to it: 7, or what no computation gives.
  const float early = bench.staged()[0];
  std::uint32_t bits = 0xCDCDCDCDU;
  CHECK((early == 7 || std::memcmp(&early, &bits, 4) == 0));
  bench.compute->record(*blocked);
  blocked->wait();
  CHECK(bench.staged()[0] == 7);
}

TEST_CASE("staging memory that changes under a copy from it is an error behind the next event" *
          doctest::skip(kFindsRaces)) {
  for (int round = 0; round < 50; ++round) {
    Bench bench;
    const auto gate = bench.device.make_event(), opened = bench.device.make_event();
    bench.copies->copy(bench.c.get(), bench.b.get(), kBytes);
    bench.copies->record(*gate);
    bench.compute->wait_for(*gate);
    bench.compute->copy_to_device(bench.a.get(), bench.staging.get(), kBytes);
    bench.staged()[5] = 1;  // most often before the stream has come to the copy
    bench.compute->record(*opened);
    const std::string error = error_of([&] { opened->wait(); });
    if (error.empty()) continue;
    CHECK(contains(error, "staging memory changed under a copy from it"));
    return;
  }
  FAIL("fifty copies were faster than the host");
}

TEST_CASE("every kernel gives the bits of the CPU") {
  const auto cpu = make_cpu_backend(1);
  const auto remote = make_remote_backend(1);
  int compared = 0;
  for (const auto* cases : {&op_cases(), &bfloat16_cases()}) {
    for (const OpCase& op_case : *cases) {
      const bool computes = op_case.op->collective == Collective::kNone &&
                            op_case.op->name != "input" && op_case.op->name != "samples" &&
                            op_case.op->name != "variable";
      if (!computes) continue;
      INFO(op_case.name);
      std::vector<Part> parts;
      for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
        parts.push_back(whole_part(draw(op_case, i)));
      }
      const auto run = [&](Backend& backend) {
        return call_kernel(backend, *op_case.op, parts, op_case.attrs, op_case.output,
                           whole_region(op_case.output.shape));
      };
      CHECK(run(*remote).bytes == run(*cpu).bytes);
      ++compared;
    }
  }
  CHECK(compared > 100);
}
