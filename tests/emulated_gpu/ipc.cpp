#include "emulated_gpu/ipc.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace emulated_gpu {

struct alignas(64) EventState {
  std::atomic<std::uint64_t> recorded;  ///< marks
  std::atomic<std::uint64_t> reached;   ///< the last of them that was
  std::atomic<int> users;               ///< other processes
};

namespace {

constexpr int kEvents = 1 << 8;  // real ones have more
constexpr std::size_t kBytes = kEvents * sizeof(EventState);

/// The events of a process, in one file.
struct Events {
  EventState* states = nullptr;
  int file = -1;
};

EventState* map_events(int file) {
  void* const mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<EventState*>(mapped);
}

struct Pool {
  std::mutex mutex;
  Events own;
  int used = 0;
  std::vector<int> free;
  std::map<std::pair<std::int64_t, int>, EventState*> others;  ///< by process and file
};

Pool& pool() {
  static auto* const instance = new Pool();
  return *instance;
}

class SharedMark final : public Mark {
 public:
  SharedMark(EventState& state, std::uint64_t number) : state_(state), number_(number) {}

  void reach() override {
    std::uint64_t now = state_.reached;
    while (now < number_ && !state_.reached.compare_exchange_weak(now, number_)) {
    }
  }
  bool wait_a_little() override {
    std::this_thread::sleep_for(std::chrono::microseconds(is_reached() ? 0 : 20));
    return is_reached();
  }
  bool is_reached() override { return state_.reached >= number_; }

 private:
  EventState& state_;
  std::uint64_t number_;
};

}  // namespace

SharedEvent::~SharedEvent() {
  if (!is_own_) {
    add_user(-1);
    return;
  }
  if (users() > 0) {
    std::fprintf(stderr, "emulated GPU: an event is destroyed that another process has open\n");
    std::abort();
  }
  Pool& held = pool();
  const std::lock_guard lock(held.mutex);
  held.free.push_back(handle_.index);
}

std::shared_ptr<Mark> SharedEvent::record() {
  return std::make_shared<SharedMark>(state_, ++state_.recorded);
}

std::shared_ptr<Mark> SharedEvent::last() {
  const std::uint64_t number = state_.recorded;
  return number == 0 ? nullptr : std::make_shared<SharedMark>(state_, number);
}

void SharedEvent::add_user(int number) { state_.users += number; }

int SharedEvent::users() const { return state_.users; }

std::shared_ptr<SharedEvent> make_shared_event() {
  Pool& held = pool();
  const std::lock_guard lock(held.mutex);
  if (held.own.file < 0) {
    held.own.file = memfd_create("emulated GPU events", MFD_CLOEXEC);
    const bool has_bytes = ftruncate(held.own.file, static_cast<off_t>(kBytes)) == 0;
    held.own.states = has_bytes ? map_events(held.own.file) : nullptr;
    if (held.own.states == nullptr) std::abort();
  }
  int index = held.used;
  if (held.free.empty()) {
    if (index == kEvents) return nullptr;
    ++held.used;
  } else {
    index = held.free.back();
    held.free.pop_back();
  }
  EventState& state = held.own.states[index];  // counts go on: marks of the last one may be pending
  const SharedHandle handle{getpid(), held.own.file, index, 0, -1, 0};
  return std::make_shared<SharedEvent>(state, handle, true);
}

std::shared_ptr<SharedEvent> open_shared_event(const SharedHandle& handle) {
  Pool& held = pool();
  const std::lock_guard lock(held.mutex);
  EventState*& states = held.others[{handle.process, handle.file}];
  if (states == nullptr) {
    const int file = open_file(handle.process, handle.file);
    if (file < 0) return nullptr;
    states = map_events(file);
    close(file);
    if (states == nullptr) return nullptr;
  }
  auto event = std::make_shared<SharedEvent>(states[handle.index], handle, false);
  event->add_user(1);
  return event;
}

int open_file(std::int64_t process, int file) {
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(file);
  return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

}  // namespace emulated_gpu
