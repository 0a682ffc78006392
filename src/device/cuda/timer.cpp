#include "device/cuda/timer.h"

#include "base/error.h"

namespace meshwork::cuda {

Timer::Timer(CudaStream& stream) : stream_(stream) {
  stream.gpu().make_current();
  for (CUevent* event : {&begin_, &end_}) {
    check(driver().cuEventCreate(event, CU_EVENT_DEFAULT), "making an event");
  }
}

Timer::~Timer() {
  // Of a lost device nothing can be given back.
  for (CUevent event : {begin_, end_}) static_cast<void>(driver().cuEventDestroy(event));
}

double Timer::microseconds(const std::function<void()>& enqueue) {
  stream_.gpu().make_current();
  check(driver().cuEventRecord(begin_, stream_.handle()), "recording an event");
  enqueue();
  check(driver().cuEventRecord(end_, stream_.handle()), "recording an event");
  check(driver().cuEventSynchronize(end_), "measuring on the GPU");
  float milliseconds = 0;
  check(driver().cuEventElapsedTime(&milliseconds, begin_, end_), "reading a time");
  return static_cast<double>(milliseconds) * 1e3;
}

}  // namespace meshwork::cuda
