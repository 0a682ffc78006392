// Memory and events of two processes: this one starts another, which opens what it is told of.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "emulated_gpu/library.h"

namespace emulated_gpu::testing {
namespace {

constexpr std::size_t kBytes = std::size_t{2} << 20U;

/// What one process tells the other, through a pipe.
struct Message {
  CUipcMemHandle memory;
  CUipcEventHandle event;
};

template <class T>
void tell(int file, const T& what) {
  REQUIRE(write(file, &what, sizeof what) == ssize_t(sizeof what));
}
template <class T>
T hear(int file) {
  T what;
  REQUIRE(read(file, &what, sizeof what) == ssize_t(sizeof what));
  return what;
}

/// A process that runs a test of this program, and the pipes to it and from it.
class Other {
 public:
  explicit Other(const char* test, const char* ipc = "") {
    std::array<int, 2> there, back;
    REQUIRE(pipe(there.data()) == 0);
    REQUIRE(pipe(back.data()) == 0);
    to_ = there[1];
    from_ = back[0];
    process_ = fork();
    REQUIRE(process_ >= 0);
    if (process_ == 0) {
      dup2(there[0], STDIN_FILENO);
      dup2(back[1], 3);
      for (const int file : {there[0], there[1], back[0], back[1]}) {
        if (file > 3) close(file);
      }
      setenv("EMULATED_GPU_IPC", ipc, 1);
      const std::string words = std::string("--test-case=") + test;
      execl("/proc/self/exe", "other", "--no-skip", words.c_str(), nullptr);
      _exit(127);
    }
    close(there[0]);
    close(back[1]);
  }
  ~Other() {
    close(to_);
    close(from_);
  }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

  int to() const { return to_; }
  int from() const { return from_; }
  int status() const {
    int status = 0;
    REQUIRE(waitpid(process_, &status, 0) == process_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
};

/// Memory of ones and an event behind it, and how others find them.
struct Shared {
  Shared() : memory(kBytes / sizeof(int)) {
    REQUIRE(DRIVER(cuMemsetD32)(memory.address(), 1, kBytes / sizeof(int)) == CUDA_SUCCESS);
    REQUIRE(DRIVER(cuIpcGetMemHandle)(&message.memory, memory.address()) == CUDA_SUCCESS);
    REQUIRE(DRIVER(cuIpcGetEventHandle)(&message.event, event) == CUDA_SUCCESS);
  }
  Array<int> memory;
  CUevent event = create_event(CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
  Message message{};
};

void wait_a_little(void* /*data*/) { usleep(20000); }

}  // namespace

TEST_CASE("a process reads and writes memory of another, behind its event") {
  start();
  const CUstream stream = create_stream();
  const Shared shared;
  const Other other("process that opens memory and an event");
  // Late, but recorded before the other is told.
  REQUIRE(DRIVER(cuLaunchHostFunc)(stream, wait_a_little, nullptr) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuMemsetD32Async)(shared.memory.address() + 4, 2, 1, stream) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuEventRecord)(shared.event, stream) == CUDA_SUCCESS);
  tell(other.to(), shared.message);
  const auto answer = hear<CUipcEventHandle>(other.from());
  CUevent theirs = nullptr;
  REQUIRE(DRIVER(cuIpcOpenEventHandle)(&theirs, answer) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuStreamWaitEvent)(stream, theirs, 0) == CUDA_SUCCESS);
  int value = 0;
  REQUIRE(DRIVER(cuMemcpyDtoHAsync)(&value, shared.memory.address() + 8, 4, stream) ==
          CUDA_SUCCESS);
  CHECK(value == 12);
  REQUIRE(DRIVER(cuEventDestroy)(theirs) == CUDA_SUCCESS);
  tell(other.to(), 'x');
  CHECK(other.status() == 0);
}

TEST_CASE("process that opens memory and an event" * doctest::skip()) {
  start();
  const auto message = hear<Message>(STDIN_FILENO);
  CUdeviceptr memory = 0, again = 0;
  CUevent event = nullptr;
  CHECK(DRIVER(cuIpcOpenMemHandle)(&memory, message.memory, 0) == CUDA_ERROR_INVALID_VALUE);
  for (CUdeviceptr* place : {&memory, &again}) {
    REQUIRE(DRIVER(cuIpcOpenMemHandle)(place, message.memory, 1) == CUDA_SUCCESS);
  }
  CHECK(memory == again);
  REQUIRE(DRIVER(cuIpcOpenEventHandle)(&event, message.event) == CUDA_SUCCESS);
  const CUstream stream = create_stream();
  REQUIRE(DRIVER(cuStreamWaitEvent)(stream, event, 0) == CUDA_SUCCESS);
  std::array<int, 2> values{};
  REQUIRE(DRIVER(cuMemcpyDtoHAsync)(values.data(), memory, 8, stream) == CUDA_SUCCESS);
  CHECK(values == std::array<int, 2>{1, 2});
  REQUIRE(DRIVER(cuMemsetD32Async)(memory + 8, 12, 1, stream) == CUDA_SUCCESS);
  const CUevent done = create_event(CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
  REQUIRE(DRIVER(cuEventRecord)(done, stream) == CUDA_SUCCESS);
  CUipcEventHandle handle;
  REQUIRE(DRIVER(cuIpcGetEventHandle)(&handle, done) == CUDA_SUCCESS);
  tell(3, handle);
  hear<char>(STDIN_FILENO);
  CHECK(DRIVER(cuMemFree)(memory) == CUDA_ERROR_INVALID_VALUE);
  for (int i = 0; i < 2; ++i) CHECK(DRIVER(cuIpcCloseMemHandle)(memory) == CUDA_SUCCESS);
  CHECK(DRIVER(cuIpcCloseMemHandle)(memory) == CUDA_ERROR_INVALID_VALUE);
  CHECK(DRIVER(cuMemsetD32Async)(memory, 0, 1, stream) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(DRIVER(cuEventDestroy)(event) == CUDA_SUCCESS);
}

TEST_CASE("processes that are kept apart open nothing") {
  start();
  const Shared shared;
  CUdeviceptr memory = 0;
  CHECK(DRIVER(cuIpcOpenMemHandle)(&memory, shared.message.memory, 1) ==
        CUDA_ERROR_INVALID_CONTEXT);
  const Other other("process that is kept apart", "closed");
  tell(other.to(), shared.message);
  CHECK(other.status() == 0);
  const CUevent plain = create_event();
  CUipcEventHandle handle;
  CHECK(DRIVER(cuIpcGetEventHandle)(&handle, plain) == CUDA_ERROR_INVALID_VALUE);
  const Run none = run_alone("process without shared memory", "EMULATED_GPU_IPC=none");
  CHECK_MESSAGE(none.passed, none.output);
}

TEST_CASE("process that is kept apart" * doctest::skip()) {
  start();
  const auto message = hear<Message>(STDIN_FILENO);
  CUdeviceptr memory = 0;
  CUevent event = nullptr;
  CHECK(DRIVER(cuIpcOpenMemHandle)(&memory, message.memory, 1) == CUDA_ERROR_MAP_FAILED);
  CHECK(DRIVER(cuIpcOpenEventHandle)(&event, message.event) == CUDA_ERROR_MAP_FAILED);
}

TEST_CASE("process without shared memory" * doctest::skip()) {
  start();
  int value = 1;
  CHECK(DRIVER(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 0) ==
        CUDA_SUCCESS);
  CHECK(value == 0);
  const Array<int> memory(kBytes / sizeof(int));
  CUipcMemHandle handle;
  CHECK(DRIVER(cuIpcGetMemHandle)(&handle, memory.address()) == CUDA_ERROR_NOT_SUPPORTED);
}

TEST_CASE(
    "memory that is shared is still out of the host's reach, and stays while others have it") {
  const Run touched = run_alone("touch of shared memory");
  CHECK_FALSE(touched.passed);
  CHECK(touched.output.find("the host touched device memory") != std::string::npos);
  const Run freed = run_alone("memory that is freed too early");
  CHECK_FALSE(freed.passed);
  CHECK(freed.output.find("memory is freed that another process has open") != std::string::npos);
  const Run small = run_alone("little memory that is shared");
  CHECK_FALSE(small.passed);
  CHECK(small.output.find("no multiple of 2 MiB") != std::string::npos);
}

TEST_CASE("touch of shared memory" * doctest::skip()) {
  start();
  const Shared shared;
  *reinterpret_cast<volatile int*>(shared.memory.address()) = 1;
}

TEST_CASE("memory that is freed too early" * doctest::skip()) {
  start();
  Shared shared;
  const Other other("process that keeps memory open");
  tell(other.to(), shared.message);
  hear<char>(other.from());
  DRIVER(cuMemFree)(shared.memory.address());
}

TEST_CASE("process that keeps memory open" * doctest::skip()) {
  start();
  const auto message = hear<Message>(STDIN_FILENO);
  CUdeviceptr memory = 0;
  REQUIRE(DRIVER(cuIpcOpenMemHandle)(&memory, message.memory, 1) == CUDA_SUCCESS);
  tell(3, 'x');
}

TEST_CASE("little memory that is shared" * doctest::skip()) {
  start();
  const Array<int> memory(100);
  CUipcMemHandle handle;
  DRIVER(cuIpcGetMemHandle)(&handle, memory.address());
}

}  // namespace emulated_gpu::testing
