// Two devices of one process, a thread each, exchange by the emulated NCCL; what it does not let
// pass, each in a process of its own.
#include <nccl.h>

#include <array>
#include <chrono>
#include <thread>

#include "emulated_gpu/library.h"

namespace emulated_gpu::testing {
namespace {

using Floats = std::vector<float>;

#define NCCL(name) (*::emulated_gpu::testing::find<decltype(name)>("libnccl.so.2", #name))

/// Until the communicator is not in progress any more.
ncclResult_t settle(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    CHECK(NCCL(ncclCommGetAsyncError)(comm, &state) == ncclSuccess);
  }
  return state;
}

/// One of two members: its device, communicator and stream.
struct Member {
  int rank = 0;
  ncclComm_t comm = nullptr;
  CUstream stream = nullptr;

  ncclResult_t done(ncclResult_t result) const {
    return result == ncclInProgress ? settle(comm) : result;
  }
  void wait() const { CHECK(DRIVER(cuStreamSynchronize)(stream) == CUDA_SUCCESS); }
  /// When nothing of it is on the stream any more.
  void close() const {
    wait();
    CHECK(done(NCCL(ncclCommFinalize)(comm)) == ncclSuccess);
    CHECK(NCCL(ncclCommDestroy)(comm) == ncclSuccess);
  }
};

Member connect(int rank, const ncclUniqueId& id, int device, ncclResult_t expected = ncclSuccess) {
  start(device);
  Member member{rank, nullptr, create_stream()};
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const ncclResult_t begun = NCCL(ncclCommInitRankConfig)(&member.comm, 2, id, rank, &config);
  CHECK(member.done(begun) == expected);
  return member;
}

/// Both at once, on devices 0 and 1.
template <class Do>
void on_two(const Do& work) {
  start(0);
  ncclUniqueId id;
  REQUIRE(NCCL(ncclGetUniqueId)(&id) == ncclSuccess);
  std::thread other([&] { work(connect(1, id, 1)); });
  work(connect(0, id, 0));
  other.join();
}

void* place(const Array<float>& array, std::size_t at = 0) {
  return reinterpret_cast<void*>(array.address() + at * sizeof(float));
}

}  // namespace

TEST_CASE("NCCL: members reduce, gather, broadcast, send and receive") {
  on_two([](const Member& me) {
    const auto rank = static_cast<float>(me.rank);
    const Array<float> data(Floats{1 + rank, 10 * rank, -rank, 4}), half(2), all(8);
    const auto wait = [&](ncclResult_t result) {
      CHECK(me.done(result) == ncclSuccess);
      me.wait();
    };
    wait(NCCL(ncclReduceScatter)(place(data), place(half), 2, ncclFloat32, ncclSum, me.comm,
                                 me.stream));
    CHECK(half.values() == (me.rank == 0 ? Floats{3, 10} : Floats{-1, 8}));
    wait(NCCL(ncclAllGather)(place(data), place(all), 4, ncclFloat32, me.comm, me.stream));
    CHECK(all.values() == Floats{1, 0, 0, 4, 2, 10, -1, 4});
    CHECK(NCCL(ncclGroupStart)() == ncclSuccess);
    const int other = 1 - me.rank;
    NCCL(ncclSend)(place(data), 2, ncclFloat32, other, me.comm, me.stream);
    NCCL(ncclRecv)(place(half), 2, ncclFloat32, other, me.comm, me.stream);
    wait(NCCL(ncclGroupEnd)());
    CHECK(half.values() == (me.rank == 0 ? Floats{2, 10} : Floats{1, 0}));
    CHECK(NCCL(ncclGroupStart)() == ncclSuccess);
    NCCL(ncclBroadcast)(place(data), place(all), 4, ncclFloat32, 1, me.comm, me.stream);
    NCCL(ncclReduce)(place(data), place(all, 4), 4, ncclFloat32, ncclMax, 0, me.comm, me.stream);
    wait(NCCL(ncclGroupEnd)());
    Floats right{2, 10, -1, 4, 2, 10, 0, 4};
    if (me.rank == 1) right = {2, 10, -1, 4, 2, 10, -1, 4};  // as it was
    CHECK(all.values() == right);
    wait(
        NCCL(ncclAllReduce)(place(data), place(data), 4, ncclFloat32, ncclSum, me.comm, me.stream));
    CHECK(data.values() == Floats{3, 10, -1, 8});
    me.close();
  });
}

TEST_CASE("NCCL: what waits for another member ends when it is aborted") {
  on_two([](const Member& me) {
    const Array<float> data(Floats{1, 2});
    if (me.rank == 0) {
      const auto begun = NCCL(ncclAllReduce)(place(data), place(data), 2, ncclFloat32, ncclSum,
                                             me.comm, me.stream);
      CHECK(me.done(begun) == ncclSuccess);
    }
    CHECK(NCCL(ncclCommAbort)(me.comm) == ncclSuccess);
    me.wait();
    CHECK(data.values() != Floats{2, 4});
  });
}

TEST_CASE("NCCL: two members on one device are refused") {
  start(0);
  ncclUniqueId id;
  REQUIRE(NCCL(ncclGetUniqueId)(&id) == ncclSuccess);
  const auto run = [&](int rank) {
    const Member me = connect(rank, id, 0, ncclInvalidUsage);
    const std::string why = NCCL(ncclGetLastError)(me.comm);
    CHECK(why.find("Duplicate GPU detected") == 0);
    CHECK(NCCL(ncclCommAbort)(me.comm) == ncclSuccess);
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
}

TEST_CASE("NCCL: buffers that are no memory of a device are refused") {
  on_two([](const Member& me) {
    const Array<float> data(4);
    CHECK(NCCL(ncclAllReduce)(place(data), place(data, 1), 4, ncclFloat32, ncclSum, me.comm,
                              me.stream) == ncclInvalidArgument);
    std::array<float, 4> host{};
    CHECK(NCCL(ncclAllReduce)(host.data(), place(data), 4, ncclFloat32, ncclSum, me.comm,
                              me.stream) == ncclInvalidArgument);
    CHECK(NCCL(ncclSend)(place(data), 4, ncclFloat32, 2, me.comm, me.stream) ==
          ncclInvalidArgument);
    me.close();
  });
}

TEST_CASE("NCCL: a work that is told to fail does so late" * doctest::skip()) {
  on_two([](const Member& me) {
    const Array<float> data(4);
    ncclResult_t state = ncclSuccess;
    const auto ask = [&] {
      return NCCL(ncclAllReduce)(place(data), place(data), 4, ncclFloat32, ncclSum, me.comm,
                                 me.stream);
    };
    if (me.rank == 0) CHECK(ask() == ncclSuccess);
    CHECK(NCCL(ncclCommGetAsyncError)(me.comm, &state) == ncclSuccess);
    CHECK(state == (me.rank == 0 ? ncclRemoteError : ncclSuccess));
    CHECK(NCCL(ncclCommAbort)(me.comm) == ncclSuccess);
  });
}
TEST_CASE("NCCL: failures are told late, and the work waits for ever") {
  const Run run =
      run_alone("NCCL: a work that is told to fail does so late", "EMULATED_GPU_FAIL_NCCL=1");
  CHECK_MESSAGE(run.passed, run.output);
}

namespace {

void check_ends(const std::string& test, const std::string& line) {
  const Run run = run_alone(test);
  CHECK_FALSE(run.passed);
  CHECK_MESSAGE(run.output.find("emulated NCCL: " + line) != std::string::npos, run.output);
}

}  // namespace

TEST_CASE("alone: NCCL of different counts" * doctest::skip()) {
  on_two([](const Member& me) {
    const Array<float> data(4);
    me.done(NCCL(ncclAllReduce)(place(data), place(data), me.rank == 0 ? 4 : 3, ncclFloat32,
                                ncclSum, me.comm, me.stream));
    me.wait();
  });
}
TEST_CASE("alone: NCCL of different kinds" * doctest::skip()) {
  on_two([](const Member& me) {
    const Array<float> data(4), half(2);
    if (me.rank == 0) {
      me.done(NCCL(ncclReduceScatter)(place(data), place(half), 2, ncclFloat32, ncclSum, me.comm,
                                      me.stream));
    } else {
      me.done(NCCL(ncclAllReduce)(place(half), place(half), 2, ncclFloat32, ncclSum, me.comm,
                                  me.stream));
    }
    me.wait();
  });
}
TEST_CASE("alone: NCCL behind an abort" * doctest::skip()) {
  on_two([](const Member& me) {
    const Array<float> data(4);
    NCCL(ncclCommAbort)(me.comm);
    NCCL(ncclAllReduce)(place(data), place(data), 4, ncclFloat32, ncclSum, me.comm, me.stream);
  });
}
TEST_CASE("alone: NCCL before it is ready" * doctest::skip()) {
  start(0);
  ncclUniqueId id;
  REQUIRE(NCCL(ncclGetUniqueId)(&id) == ncclSuccess);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  CHECK(NCCL(ncclCommInitRankConfig)(&comm, 2, id, 0, &config) == ncclInProgress);
  const Array<float> data(4);
  NCCL(ncclAllReduce)(place(data), place(data), 4, ncclFloat32, ncclSum, comm, create_stream());
}
TEST_CASE("alone: NCCL that is not finalized" * doctest::skip()) {
  on_two([](const Member& me) { NCCL(ncclCommDestroy)(me.comm); });
}
TEST_CASE("alone: NCCL on the stream of another device" * doctest::skip()) {
  on_two([](const Member& me) {
    const Array<float> data(4);
    start(1 - me.rank);
    NCCL(ncclAllReduce)
    (place(data), place(data), 4, ncclFloat32, ncclSum, me.comm, create_stream());
  });
}
TEST_CASE("NCCL: what makes members wait for ever, or worse, ends the process") {
  check_ends("alone: NCCL of different counts", "two members ask for different things");
  check_ends("alone: NCCL of different kinds", "two members ask for different things");
  check_ends("alone: NCCL behind an abort", "a communicator is used that was never made, or is");
  check_ends("alone: NCCL before it is ready", "a communicator is used before what was asked");
  check_ends("alone: NCCL that is not finalized", "a communicator is destroyed that was not");
  check_ends("alone: NCCL on the stream of another device", "a stream of another device than");
}

}  // namespace emulated_gpu::testing
