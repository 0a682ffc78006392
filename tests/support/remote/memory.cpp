#include "support/remote/memory.h"

#include <execinfo.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <map>
#include <mutex>

#include "base/check.h"

namespace meshwork::testing {
namespace {

struct Range {
  std::size_t bytes = 0;
  std::byte* local = nullptr;
};

/// By the remote address of its first byte.
struct Registry {
  std::mutex mutex;
  std::map<const std::byte*, Range> ranges;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

// Every remote address lies in one reserved region, so that a signal handler can tell.
constexpr std::size_t kRegion = std::size_t{1} << 38U;
std::byte* region = nullptr;
std::size_t region_used = 0;
struct sigaction previous_handler;

void say(const char* text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const auto* address = static_cast<const std::byte*>(info->si_addr);
  if (address >= region && address < region + kRegion) {
    say("the host touched device memory; the culprit:\n");
    std::array<void*, 32> frames;
    backtrace_symbols_fd(frames.data(), backtrace(frames.data(), 32), STDERR_FILENO);
    _exit(86);
  }
  if ((previous_handler.sa_flags & SA_SIGINFO) != 0) {
    previous_handler.sa_sigaction(signal, info, context);
  } else {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

/// Test runners put handlers of their own in the place of ours.
void install() {
  struct sigaction action {};
  MW_CHECK(sigaction(SIGSEGV, nullptr, &action) == 0);
  if ((action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_fault) return;
  previous_handler = action;
  // The first call loads a library, which a signal's handler must not do.
  std::array<void*, 1> frame;
  backtrace(frame.data(), 1);
  action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  MW_CHECK(sigaction(SIGSEGV, &action, nullptr) == 0);
}

void reserve() {
  void* const memory =
      mmap(nullptr, kRegion, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  MW_CHECK(memory != MAP_FAILED);
  region = static_cast<std::byte*>(memory);
}

}  // namespace

std::shared_ptr<std::byte> allocate_remote(std::int64_t bytes) {
  constexpr std::size_t kPage = 4096;
  const std::size_t size =
      (static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)) + kPage - 1) / kPage * kPage;
  auto& [mutex, ranges] = registry();
  const std::lock_guard lock(mutex);
  if (region == nullptr) reserve();
  install();
  MW_CHECK(region_used + size + kPage <= kRegion);
  std::byte* const remote = region + region_used;
  region_used += size + kPage;  // addresses are never used again
  void* const local =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MW_CHECK(local != MAP_FAILED);
  ranges[remote] = {size, static_cast<std::byte*>(local)};
  return {remote, [local, size](std::byte* address) {
            auto& [held, known] = registry();
            const std::lock_guard guard(held);
            known.erase(address);
            munmap(local, size);
          }};
}

std::byte* to_local(const std::byte* remote) {
  if (remote == nullptr) return nullptr;
  auto& [mutex, ranges] = registry();
  const std::lock_guard lock(mutex);
  auto found = ranges.upper_bound(remote);
  MW_CHECK(found != ranges.begin(), "no memory of the device");
  --found;
  const auto offset = static_cast<std::size_t>(remote - found->first);
  MW_CHECK(offset <= found->second.bytes, "no memory of the device");
  return found->second.local + offset;
}

}  // namespace meshwork::testing
