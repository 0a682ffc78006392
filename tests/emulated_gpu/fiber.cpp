#include "emulated_gpu/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
extern "C" void emulated_gpu_switch(void** from, void* to);
extern "C" void emulated_gpu_start();

// Saves the registers that a call keeps, on the stack, and takes up those of the other.
asm(R"(
.text
.globl emulated_gpu_switch
.hidden emulated_gpu_switch
.type emulated_gpu_switch, @function
emulated_gpu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emulated_gpu_switch, .-emulated_gpu_switch

.globl emulated_gpu_start
.hidden emulated_gpu_start
.type emulated_gpu_start, @function
emulated_gpu_start:
  movq %r13, %rdi
  callq *%r12
  ud2
.size emulated_gpu_start, .-emulated_gpu_start
)");
#endif

namespace emulated_gpu {
namespace {

constexpr std::size_t kPage = 4096;

std::byte* map_stack(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, kPage, PROT_NONE) != 0) {
    std::fputs("emulated GPU: no memory for the stack of a thread\n", stderr);
    std::abort();
  }
  return static_cast<std::byte*>(memory);
}

#if !defined(__x86_64__)
void start(unsigned entry_high, unsigned entry_low, unsigned argument_high, unsigned argument_low) {
  const auto join = [](unsigned high, unsigned low) {
    return static_cast<std::uintptr_t>((static_cast<std::uint64_t>(high) << 32U) | low);
  };
  reinterpret_cast<void (*)(void*)>(join(entry_high, entry_low))(
      reinterpret_cast<void*>(join(argument_high, argument_low)));
}
#endif

}  // namespace

Fiber::~Fiber() {
  if (stack_ != nullptr) munmap(stack_, kStack + kPage);
}

void Fiber::prepare(void (*entry)(void*), void* argument) {
  if (stack_ == nullptr) stack_ = map_stack(kStack);
#if defined(__x86_64__)
  // r15, r14, r13, r12, rbx, rbp and the address to return to; then the stack is aligned to 16.
  auto* const words = reinterpret_cast<std::uintptr_t*>(stack_ + kPage + kStack) - 9;
  std::memset(words, 0, 9 * sizeof *words);
  words[2] = reinterpret_cast<std::uintptr_t>(argument);
  words[3] = reinterpret_cast<std::uintptr_t>(entry);
  words[6] = reinterpret_cast<std::uintptr_t>(&emulated_gpu_start);
  top_ = words;
#else
  getcontext(&context_);
  context_.uc_stack = {};
  context_.uc_stack.ss_sp = stack_ + kPage;
  context_.uc_stack.ss_size = kStack;
  context_.uc_link = nullptr;
  const auto first = reinterpret_cast<std::uint64_t>(entry);
  const auto second = reinterpret_cast<std::uint64_t>(argument);
  makecontext(&context_, reinterpret_cast<void (*)()>(&start), 4,
              static_cast<unsigned>(first >> 32U), static_cast<unsigned>(first),
              static_cast<unsigned>(second >> 32U), static_cast<unsigned>(second));
#endif
}

void Fiber::go(Fiber& from, Fiber& next) {
#if defined(__x86_64__)
  emulated_gpu_switch(&from.top_, next.top_);
#else
  swapcontext(&from.context_, &next.context_);
#endif
}

}  // namespace emulated_gpu
