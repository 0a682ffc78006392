#pragma once

#include <cuda.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

namespace emulated_gpu {

class Context;

/// A place in a stream, which the stream may reach when the event is gone.
class Mark {
 public:
  using Clock = std::chrono::steady_clock;

  Mark() = default;
  virtual ~Mark() = default;
  virtual void reach();
  /// Whether it is reached, before long.
  virtual bool wait_a_little();
  virtual bool is_reached();
  Clock::time_point time();  ///< when it was reached

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  Clock::time_point time_;
};

struct Capture;

/// Where a stream or an event stands in a capture; nowhere without one. Functions of capture.h
/// alone read and write it, and an event's mark.
struct CapturePosition {
  std::shared_ptr<Capture> capture;
  std::set<int> last;  ///< nodes that what follows comes after
};

class SharedEvent;

struct Event {
  unsigned flags = 0;
  std::shared_ptr<SharedEvent> shared{};  ///< of an event for several processes, in place of `mark`
  std::shared_ptr<Mark> mark;             ///< recorded last; nullptr if none was
  CapturePosition position;
};

/// A thread that does, late, what is enqueued. Once the context has failed it does no more work,
/// and reaches no more marks: streams of other contexts wait for these for ever.
class Stream {
 public:
  using Work = std::function<CUresult()>;

  Stream(Context& context, unsigned flags);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Context& context() const { return context_; }
  unsigned flags() const { return flags_; }

  /// A result that is not a success fails the context.
  void enqueue(Work work);
  void record(std::shared_ptr<Mark> mark);
  void wait_for(std::shared_ptr<Mark> mark);
  /// Waits for what is enqueued by now.
  void synchronize();
  bool idle();

  CapturePosition position;

 private:
  void push(std::function<void()> step);
  void run(std::uint64_t seed);

  Context& context_;
  unsigned flags_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::uint64_t pushed_ = 0;
  std::uint64_t done_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace emulated_gpu
