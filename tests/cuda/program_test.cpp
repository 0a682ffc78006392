// Programs of collectives alone, as the executor runs them on GPU devices: the bits of the CPU.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bit>

#include "comm/contract_case.h"
#include "comm/cuda_communicator.h"
#include "comm/thread.h"
#include "device/cuda_device.h"
#include "exec/executable.h"
#include "job/job.h"
#include "support/make_plan.h"
#include "support/ops_by_name.h"
#include "support/text/parse.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr std::int64_t kCount = 6000;

/// Sums along rows of a 2x2 mesh, then along columns, scattered and gathered; beside them a maximum
/// along columns; at the end a maximum over all.
std::string program_of(int rank) {
  const int row = rank / 2, column = rank % 2;
  const std::string along_row = fmt::format("members=[{}, {}]", 2 * row, 2 * row + 1);
  const std::string along_column = fmt::format("members=[{}, {}]", column, column + 2);
  const std::string blocks = fmt::format("own={}, counts=[2500, 3500]", row);
  const std::string whole = "float32[6000] of [6000] at [0]  # forward\n";
  const std::string part = row == 0 ? "float32[2500] of [6000] at [0]  # forward\n"
                                    : "float32[3500] of [6000] at [2500]  # forward\n";
  return "%0 = input() {name=\"x\", dtype=\"float32\", shape=[6000]} : " + whole +
         "%1 = all_reduce(%0) {axes=[1], " + along_row + ", reduction=\"sum\"} : " + whole +
         "%2 = all_reduce(%0) {axes=[0], " + along_column + ", reduction=\"max\"} : " + whole +
         "%3 = reduce_scatter(%1) {axes=[0], " + along_column + ", reduction=\"sum\", " + blocks +
         "} : " + part + "%4 = all_gather(%3) {axes=[0], " + along_column + ", " + blocks +
         "} : " + whole +
         "%5 = all_reduce(%4) {axes=[0, 1], members=[0, 1, 2, 3], reduction=\"max\"} : " + whole +
         "output \"sums\" = %4\noutput \"maxima\" = %2\noutput \"all\" = %5\n";
}

/// The outputs of one device, one after the other, of several runs on other inputs each.
std::vector<std::uint32_t> run(const World& world, const DeviceParts& parts) {
  const int rank = world.hosts->rank();
  Device& device = parts.backend->device();
  const Plan plan = make_plan(parse(program_of(rank), op_of), {});
  CommunicatorGroups groups(*parts.devices);
  ProgramStreams streams(device);
  const auto arena = device.allocate(plan.arena_bytes);
  const Executable executable(plan, *parts.backend, streams, groups, arena.get());
  std::vector<std::uint32_t> outputs;
  const auto copy = [&](const TensorView& from) {
    std::vector<float> values(static_cast<std::size_t>(kCount));
    download(device, *streams.compute, values.data(), from.data, num_bytes(from.type));
    for (const float value : values) outputs.push_back(std::bit_cast<std::uint32_t>(value));
  };
  for (int step = 0; step < 5; ++step) {
    const std::vector<float> x = test::values<float>(rank, 0, kCount, step);
    const TensorView input = executable.input("x");
    upload(device, *streams.compute, input.data, x.data(), num_bytes(input.type));
    executable.run();
    for (const char* name : {"sums", "maxima", "all"}) copy(executable.output(name));
  }
  streams.drain();
  return outputs;
}

}  // namespace

TEST_CASE("a program of collectives gives the bits of the CPU on GPU devices") {
  run_devices(4, [](World& world) {
    const DeviceParts cpu{make_cpu_backend(1), world.devices};
    const std::vector<std::uint32_t> right = run(world, cpu);
    const int gpu = world.hosts->rank() % gpu_count();
    const DeviceParts cuda{make_cuda_backend(gpu), cuda_communicator(world.devices, gpu)};
    CHECK(run(world, cuda) == right);
  });
}
