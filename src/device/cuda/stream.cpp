#include "device/cuda/stream.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "base/terminal.h"
#include "device/cuda/lost.h"

namespace meshwork::cuda {
namespace {

/// Waits by `wait`, or where a GPU that is lost may keep it waiting by asking again and again: then
/// the result is CUDA_ERROR_NOT_READY.
template <class Wait, class Ask>
CUresult await(const Wait& wait, const Ask& ask) {
  if (!are_several()) return wait();
  constexpr int kFewAsks = 50;
  constexpr std::chrono::microseconds kNap{20};
  for (int asked = 0;; ++asked) {
    const CUresult result = ask();
    if (result != CUDA_ERROR_NOT_READY || is_loss_told()) return result;
    if (asked < kFewAsks) {
      sched_yield();  // cores may be fewer than threads that wait
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }
}

}  // namespace

CudaEvent::CudaEvent(const Gpu& gpu, unsigned flags) : gpu_(gpu) {
  gpu.make_current();
  check(driver().cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING | flags), "making an event");
}

CudaEvent::~CudaEvent() {
  // Of a lost device nothing can be given back.
  static_cast<void>(driver().cuEventDestroy(event_));
}

void CudaEvent::wait() {
  gpu_.make_current();
  const CUresult result = await([this] { return driver().cuEventSynchronize(event_); },
                                [this] { return driver().cuEventQuery(event_); });
  if (result == CUDA_ERROR_NOT_READY) check_none_lost();
  check(result,
        fmt::format("GPU {} failed (debug.check_numerics=true tells in what)", gpu_.number()));
  gpu_.halt().check();
}

Grid grid_of(std::int64_t elements) {
  constexpr int kThreads = 256;
  constexpr std::int64_t kMostBlocks = 1 << 14;  // fills any GPU several times
  return {std::min((elements + kThreads - 1) / kThreads, kMostBlocks), kThreads};
}

CudaStream::CudaStream(Gpu& gpu) : gpu_(gpu) {
  gpu.make_current();
  check(driver().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "making a stream");
}

CudaStream::~CudaStream() {
  if (!is_one_lost()) static_cast<void>(driver().cuStreamDestroy(stream_));
}

namespace {

CUdeviceptr address(const std::byte* place) { return reinterpret_cast<CUdeviceptr>(place); }

}  // namespace

void CudaStream::copy_to_device(std::byte* device, const std::byte* host, std::int64_t bytes) {
  if (bytes == 0) return;
  gpu_.make_current();
  check(driver().cuMemcpyHtoDAsync(address(device), host, static_cast<std::size_t>(bytes), stream_),
        "copying to the GPU");
}

void CudaStream::copy_to_host(std::byte* host, const std::byte* device, std::int64_t bytes) {
  if (bytes == 0) return;
  gpu_.make_current();
  check(driver().cuMemcpyDtoHAsync(host, address(device), static_cast<std::size_t>(bytes), stream_),
        "copying from the GPU");
}

void CudaStream::copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes == 0 || to == from) return;
  gpu_.make_current();
  check(driver().cuMemcpyDtoDAsync(address(to), address(from), static_cast<std::size_t>(bytes),
                                   stream_),
        "copying on the GPU");
}

void CudaStream::record(Event& event) {
  gpu_.make_current();
  check(driver().cuEventRecord(dynamic_cast<CudaEvent&>(event).handle(), stream_),
        "recording an event");
}

void CudaStream::wait_for(const Event& event) {
  gpu_.make_current();
  check(driver().cuStreamWaitEvent(stream_, dynamic_cast<const CudaEvent&>(event).handle(), 0),
        "waiting for an event");
}

namespace {

const Source kMark{"mark",
                   "KERNEL(mark, int32* place, int32 number) {\n"
                   "  *place = number;\n"
                   "  __threadfence_system();\n"
                   "}\n",
                   ""};

/// A number that kernels write, and that is there when the GPU is lost.
std::shared_ptr<std::int32_t> make_marked() {
  void* place = nullptr;
  check(driver().cuMemHostAlloc(&place, sizeof(std::int32_t),
                                CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
        "allocating memory that the GPU writes marks to");
  auto* const number = static_cast<std::int32_t*>(place);
  *number = 0;
  return {number, [](std::int32_t* it) {
            if (!is_one_lost()) static_cast<void>(driver().cuMemFreeHost(it));
          }};
}

}  // namespace

void CudaStream::mark(std::int32_t number) {
  gpu_.make_current();
  if (marked_ == nullptr) {
    marked_ = make_marked();
    gpu_.halt().follow(marked_);
    seen_ = marked_.get();
  }
  kernel_launch(*this, kMark, "mark", {1, 1}, marked_.get(), number)();
}

std::int32_t CudaStream::last_mark() const {
  const volatile std::int32_t* const mark = seen_;
  return mark == nullptr ? 0 : *mark;
}

std::optional<std::int32_t> CudaStream::failed_behind() const {
  if (const auto kept = gpu_.halt().kept(marked_)) return kept;
  const CUresult result = driver().cuStreamQuery(stream_);
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY) return std::nullopt;
  return marked_ == nullptr ? 0 : *static_cast<const volatile std::int32_t*>(marked_.get());
}

void CudaStream::prepare() { gpu_.load_all(); }

void CudaStream::drain() noexcept {
  // Whatever went wrong in it was told by an event, or nobody asked.
  try {
    gpu_.make_current();
    const CUresult result = await([this] { return driver().cuStreamSynchronize(stream_); },
                                  [this] { return driver().cuStreamQuery(stream_); });
    if (is_fatal(result)) check(result, fmt::format("GPU {} failed", gpu_.number()));
  } catch (...) {
  }
}

void CudaStream::fill_zero(std::byte* to, std::int64_t bytes) {
  if (bytes == 0) return;
  gpu_.make_current();
  check(driver().cuMemsetD8Async(address(to), 0, static_cast<std::size_t>(bytes), stream_),
        "clearing memory of the GPU");
}

void CudaStream::launch(CUfunction function, Grid grid, void** arguments) {
  gpu_.make_current();
  check(driver().cuLaunchKernel(function, static_cast<unsigned>(grid.blocks), 1, 1,
                                static_cast<unsigned>(grid.threads), 1, 1, 0, stream_, arguments,
                                nullptr),
        "launching a kernel");
}

namespace {

/// Whether what cannot be recorded may well be enqueued.
bool is_of_recording_alone(CUresult result) {
  return result == CUDA_ERROR_OUT_OF_MEMORY || (result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
                                                result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
}

/// The same result, where it is no other failure, which is thrown.
CUresult checked(CUresult result) {
  if (!is_of_recording_alone(result)) check(result, "recording a program");
  return result;
}

/// Work of a stream as a graph that is launched as a whole.
class Recording {
 public:
  Recording() = default;
  /// The result is that of the driver where it records nothing; what else goes wrong is thrown.
  CUresult record(CudaStream& stream, const std::function<void()>& enqueue) {
    constexpr CUstreamCaptureMode kMode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    CUresult result = checked(driver().cuStreamBeginCapture(stream.handle(), kMode));
    if (result != CUDA_SUCCESS) return result;
    std::exception_ptr failure;
    try {
      enqueue();
    } catch (...) {
      failure = std::current_exception();
    }
    result = driver().cuStreamEndCapture(stream.handle(), &graph_);
    if (failure && !is_of_recording_alone(result)) std::rethrow_exception(failure);
    if (checked(result) != CUDA_SUCCESS) return result;
    return checked(driver().cuGraphInstantiate(&program_, graph_, 0));
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() {
    if (program_ != nullptr) static_cast<void>(driver().cuGraphExecDestroy(program_));
    if (graph_ != nullptr) static_cast<void>(driver().cuGraphDestroy(graph_));
  }

  CUgraphExec program() const { return program_; }

 private:
  CUgraph graph_ = nullptr;
  CUgraphExec program_ = nullptr;
};

}  // namespace

Launch CudaStream::recorded(const std::function<void()>& enqueue) {
  prepare();  // nothing can be loaded meanwhile
  gpu_.make_current();
  const auto recording = std::make_shared<Recording>();
  if (const CUresult result = recording->record(*this, enqueue); result != CUDA_SUCCESS) {
    static std::once_flag once;
    std::call_once(once, [&] {
      const char* name = nullptr;
      driver().cuGetErrorName(result, &name);
      say(
          fmt::format("note: GPU {} cannot record a program ({}): its kernels are launched one by "
                      "one, which takes longer where they are small",
                      gpu_.number(), name == nullptr ? "unknown" : name));
    });
    return nullptr;
  }
  return [this, recording] {
    gpu_.make_current();
    check(driver().cuGraphLaunch(recording->program(), stream_), "launching a program");
  };
}

CudaStream& cuda_stream(Stream& stream) {
  auto* const mine = dynamic_cast<CudaStream*>(&stream);
  MW_CHECK(mine != nullptr, "a stream of another device");
  return *mine;
}

CudaStream& cuda_stream(Stream& stream, const Gpu& gpu) {
  CudaStream& mine = cuda_stream(stream);
  MW_CHECK(&mine.gpu() == &gpu, "a stream of GPU {} on GPU {}", mine.gpu().number(), gpu.number());
  return mine;
}

}  // namespace meshwork::cuda
