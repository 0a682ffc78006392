// Who touches memory that is not his, or a pack of numbers where none can begin, ends the process,
// with a line that says so.
#include <execinfo.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "emulated_gpu/block.h"
#include "emulated_gpu/region.h"

namespace emulated_gpu {

extern std::byte* region_begin;
extern std::byte* region_end;

namespace {

constexpr std::size_t kStack = std::size_t{64} << 10U;
constexpr int kExitStatus = 86;

struct sigaction previous;          // of SIGSEGV
struct sigaction previous_illegal;  // of SIGILL

[[noreturn]] void end_process() {
  std::array<void*, 32> frames;
  backtrace_symbols_fd(frames.data(), backtrace(frames.data(), 32), STDERR_FILENO);
  _exit(kExitStatus);
}

void say(const std::array<char, 512>& text, int length) {
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, text.data(), static_cast<std::size_t>(length));
}

/// Ends the process with a line of the kernel that runs, if one does.
void blame_kernel(const char* what) {
  const char* const kernel = running_kernel();
  if (kernel == nullptr) return;
  std::array<char, 512> text;
  const auto& [thread, block, block_size, grid_size] = emulated_gpu_place;
  say(text, std::snprintf(text.data(), text.size(),
                          "emulated GPU: thread (%u, %u, %u) of block (%u, %u, %u) of kernel %s "
                          "touched %s\n",
                          thread.x, thread.y, thread.z, block.x, block.y, block.z, kernel, what));
  end_process();
}

void pass_on(const struct sigaction& handler, int signal, siginfo_t* info, void* context) {
  if ((handler.sa_flags & SA_SIGINFO) != 0) {
    handler.sa_sigaction(signal, info, context);
  } else {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

/// Kernels are compiled with traps where an address is no multiple of what is there.
void on_trap(int signal, siginfo_t* info, void* context) {
  blame_kernel("numbers that cannot begin there");
  pass_on(previous_illegal, signal, info, context);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const auto* const address = static_cast<const std::byte*>(info->si_addr);
  std::array<char, 512> text;
  std::snprintf(text.data(), text.size(), "%p, which is no memory of the device", info->si_addr);
  blame_kernel(text.data());
  if (address >= region_begin && address < region_end) {
    say(text, std::snprintf(text.data(), text.size(),
                            "emulated GPU: the host touched device memory at %p; the culprit:\n",
                            info->si_addr));
    end_process();
  }
  pass_on(previous, signal, info, context);
}

}  // namespace

void watch_faults() {
  struct sigaction action {};
  if (sigaction(SIGSEGV, nullptr, &action) != 0) return;
  if ((action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_fault) return;
  previous = action;
  // The first call loads a library, which a signal's handler must not do.
  std::array<void*, 1> frame;
  backtrace(frame.data(), 1);
  action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  action.sa_sigaction = on_trap;
  sigaction(SIGILL, &action, &previous_illegal);
}

FaultStack::FaultStack() : stack_(static_cast<std::byte*>(std::malloc(kStack))) {
  stack_t stack{};
  stack.ss_sp = stack_;
  stack.ss_size = kStack;
  sigaltstack(&stack, nullptr);
}

FaultStack::~FaultStack() {
  stack_t stack{};
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
  std::free(stack_);
}

}  // namespace emulated_gpu
