#include "emulated_gpu/block.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emulated_gpu/settings.h"
#include "emulated_gpu/tensor_cores.h"

__thread EmulatedGpuPlace emulated_gpu_place __attribute__((tls_model("initial-exec")));

namespace emulated_gpu {
namespace {

constexpr int kWarp = 32;
constexpr std::uint64_t kGarbage = 0xCDCDCDCDCDCDCDCD;

__thread BlockRunner* runner __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

BlockRunner* BlockRunner::current() { return runner; }

const char* running_kernel() { return runner == nullptr ? nullptr : runner->name().c_str(); }

bool BlockRunner::run(const Launch& launch) {
  runner = this;
  launch_ = launch;
  count_ = static_cast<int>(launch.block.x * launch.block.y * launch.block.z);
  auto& place = emulated_gpu_place;
  place.block_size = {launch.block.x, launch.block.y, launch.block.z};
  place.grid_size = {launch.grid.x, launch.grid.y, launch.grid.z};
  bool good = true;
  std::uint64_t number = 0;
  for (unsigned z = 0; z < launch.grid.z && good; ++z) {
    for (unsigned y = 0; y < launch.grid.y && good; ++y) {
      for (unsigned x = 0; x < launch.grid.x && good; ++x) {
        place.block = {x, y, z};
        good = run_block(number++);
      }
    }
  }
  runner = nullptr;
  return good;
}

/// Shared memory starts as garbage, and the threads start in this order or that: who counts on
/// zeros or leaves out a barrier is found out.
bool BlockRunner::run_block(std::uint64_t number) {
  constexpr std::uint64_t kBlocksWithGarbage = 8;  // in all it would take long
  if (number < kBlocksWithGarbage && launch_.shared.bytes > 0) {
    std::memset(launch_.shared.data, static_cast<int>(kGarbage & 0xFFU), launch_.shared.bytes);
  }
  backwards_ = (number + settings().seed) % 2 != 0;
  threads_.assign(static_cast<std::size_t>(count_), Thread());
  warps_.assign(static_cast<std::size_t>((count_ + kWarp - 1) / kWarp), Warp{~0U, 0});
  if (count_ % kWarp != 0) warps_.back().living = (1U << unsigned(count_ % kWarp)) - 1U;
  next_ = 0;
  living_ = count_;
  arrived_ = 0;
  trapped_ = false;
  ready_.clear();
  ready_first_ = 0;
  fiber_ = &main_;
  Fiber& first = next_fiber();
  fiber_ = &first;
  Fiber::go(main_, first);
  if (!trapped_) return true;
  // Fibers that a trap left behind begin anew.
  idle_.clear();
  for (const auto& fiber : fibers_) {
    fiber->prepare(&enter, this);
    idle_.push_back(fiber.get());
  }
  return false;
}

void BlockRunner::enter(void* self) {
  for (;;) static_cast<BlockRunner*>(self)->run_threads();
}

void BlockRunner::run_threads() {
  Fiber& self = *fiber_;
  while (next_ < count_) {
    const int turn = next_++;
    const int thread = backwards_ ? count_ - 1 - turn : turn;
    threads_[static_cast<std::size_t>(thread)].fiber = &self;
    stand_at(thread);
    launch_.call(launch_.arguments);
    finish();
    if (ready_first_ < ready_.size()) break;  // what waited goes on first
  }
  idle_.push_back(&self);
  fiber_ = &next_fiber();
  if (fiber_ != &self) Fiber::go(self, *fiber_);
}

void BlockRunner::stand_at(int thread) {
  thread_ = thread;
  const auto index = static_cast<unsigned>(thread);
  const auto& size = emulated_gpu_place.block_size;
  if (size.x == static_cast<unsigned>(count_)) {
    emulated_gpu_place.thread = {index, 0, 0};
    return;
  }
  emulated_gpu_place.thread = {index % size.x, index / size.x % size.y, index / size.x / size.y};
}

/// An ended thread counts as arrived wherever others wait for it.
void BlockRunner::finish() {
  --living_;
  const int first = thread_ / kWarp * kWarp;
  Warp& warp = warps_[static_cast<std::size_t>(thread_ / kWarp)];
  warp.living &= ~(1U << unsigned(thread_ % kWarp));
  if (living_ > 0 && arrived_ == living_) release_barrier();
  if (warp.waiting != 0) try_exchange(warp, first);
}

/// Takes the fiber that goes on from those that are ready or idle.
Fiber& BlockRunner::next_fiber() {
  if (ready_first_ < ready_.size()) {
    const int thread = ready_[ready_first_++];
    if (ready_first_ == ready_.size()) {
      ready_.clear();
      ready_first_ = 0;
    }
    stand_at(thread);
    return *threads_[static_cast<std::size_t>(thread)].fiber;
  }
  if (living_ == 0) return main_;
  if (next_ == count_) stuck("no other thread will come");
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>());
    fibers_.back()->prepare(&enter, this);
    idle_.push_back(fibers_.back().get());
  }
  Fiber* const fiber = idle_.back();
  idle_.pop_back();
  return *fiber;
}

void BlockRunner::wait() {
  Fiber& self = *fiber_;
  fiber_ = &next_fiber();
  if (fiber_ != &self) Fiber::go(self, *fiber_);
}

int BlockRunner::barrier(EmulatedGpuBarrier kind, int predicate) {
  Thread& self = threads_[static_cast<std::size_t>(thread_)];
  self.state = State::kAtBarrier;
  self.kind = kind;
  self.value = predicate != 0 ? 1 : 0;
  if (++arrived_ == living_) release_barrier();
  wait();
  return static_cast<int>(self.result);
}

void BlockRunner::release_barrier() {
  std::uint64_t sum = 0;
  int kind = -1;
  for (const Thread& thread : threads_) {
    if (thread.state != State::kAtBarrier) continue;
    if (kind >= 0 && thread.kind != kind) stuck("they are at different kinds of barriers");
    kind = thread.kind;
    sum += thread.value;
  }
  const auto arrived = static_cast<std::uint64_t>(arrived_);
  const std::uint64_t result = kind == kBarrierCount ? sum
                               : kind == kBarrierOr  ? std::uint64_t{sum > 0}
                                                     : std::uint64_t{sum == arrived};
  arrived_ = 0;
  for (int i = 0; i < count_; ++i) {
    Thread& thread = threads_[static_cast<std::size_t>(i)];
    if (thread.state != State::kAtBarrier) continue;
    thread.state = State::kRunning;
    thread.result = result;
    ready_.push_back(i);
  }
}

std::uint64_t BlockRunner::exchange(EmulatedGpuExchange kind, unsigned mask, std::uint64_t value,
                                    int source) {
  const int lane = thread_ % kWarp;
  Thread& self = threads_[static_cast<std::size_t>(thread_)];
  self.state = State::kAtExchange;
  self.kind = kind;
  self.mask = mask;
  self.value = value;
  self.source = source;
  if ((mask >> unsigned(lane) & 1U) == 0) stuck("a lane is not in its own mask");
  Warp& warp = warps_[static_cast<std::size_t>(thread_ / kWarp)];
  warp.waiting |= 1U << unsigned(lane);
  if ((warp.living & mask & ~warp.waiting) == 0) try_exchange(warp, thread_ - lane);
  wait();
  return self.result;
}

/// Lets every group of lanes go on whose living lanes are all there with the same mask and kind.
void BlockRunner::try_exchange(Warp& warp, int first) {
  for (unsigned left = warp.waiting; left != 0;) {
    Thread* const lanes = &threads_[static_cast<std::size_t>(first)];
    const Thread asked = lanes[__builtin_ctz(left)];
    const unsigned group = asked.mask & warp.living;
    left &= ~group;
    bool whole = (group & ~warp.waiting) == 0;
    std::uint64_t ballot = 0;
    for (unsigned rest = group; rest != 0 && whole; rest &= rest - 1U) {
      const Thread& thread = lanes[__builtin_ctz(rest)];
      whole = thread.mask == asked.mask && thread.kind == asked.kind;
      if (thread.value != 0) ballot |= std::uint64_t{1} << unsigned(__builtin_ctz(rest));
    }
    if (!whole) continue;
    if (asked.kind == kExchangeWork) work_together(lanes, group);
    warp.waiting &= ~group;
    for (unsigned rest = group; rest != 0; rest &= rest - 1U) {
      const int lane = __builtin_ctz(rest);
      Thread& thread = lanes[lane];
      const bool known = thread.source >= 0 && thread.source < kWarp &&
                         (group >> unsigned(thread.source) & 1U) != 0;
      thread.state = State::kRunning;
      thread.result = thread.kind == kExchangeBallot ? ballot
                      : known                        ? lanes[thread.source].value
                                                     : kGarbage;
      ready_.push_back(first + lane);
    }
  }
}

void BlockRunner::work_together(const Thread* lanes, unsigned group) const {
  if (group != ~0U) stuck("tensor cores are asked by a part of a warp");
  WarpWork all{};
  for (int i = 0; i < kWarp; ++i) all[std::size_t(i)] = reinterpret_cast<LaneWork*>(lanes[i].value);
  for (const LaneWork* const lane : all) {
    if (lane->together != all[0]->together) stuck("lanes ask tensor cores for different things");
  }
  all[0]->together(all);
}

unsigned BlockRunner::living_lanes() const {
  return warps_[static_cast<std::size_t>(thread_ / kWarp)].living;
}

void BlockRunner::trap() {
  trapped_ = true;
  Fiber& self = *fiber_;
  fiber_ = &main_;
  Fiber::go(self, main_);
  std::abort();
}

void BlockRunner::stuck(const char* why) const {
  int at_barrier = 0;
  int at_exchange = 0;
  for (const Thread& thread : threads_) {
    at_barrier += thread.state == State::kAtBarrier ? 1 : 0;
    at_exchange += thread.state == State::kAtExchange ? 1 : 0;
  }
  const auto& block = emulated_gpu_place.block;
  std::fprintf(stderr,
               "emulated GPU: threads of block (%u, %u, %u) of kernel %s wait for ever, for %s: of "
               "%d that live, %d wait at a barrier and %d for lanes of their warp\n",
               block.x, block.y, block.z, launch_.name.c_str(), why, living_, at_barrier,
               at_exchange);
  for (int i = 0; i < count_; ++i) {
    const Thread& thread = threads_[static_cast<std::size_t>(i)];
    if (thread.state != State::kAtExchange) continue;
    std::fprintf(stderr, "  thread %d waits for lanes %08x\n", i, thread.mask);
  }
  std::abort();
}

}  // namespace emulated_gpu

int emulated_gpu_barrier(EmulatedGpuBarrier kind, int predicate) {
  return emulated_gpu::BlockRunner::current()->barrier(kind, predicate);
}

unsigned long long emulated_gpu_exchange(EmulatedGpuExchange kind, unsigned mask,
                                         unsigned long long value, int source) {
  return emulated_gpu::BlockRunner::current()->exchange(kind, mask, value, source);
}

unsigned emulated_gpu_living_lanes() {
  return emulated_gpu::BlockRunner::current()->living_lanes();
}

void emulated_gpu_trap() { emulated_gpu::BlockRunner::current()->trap(); }
