#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "device/stream.h"
#include "support/remote/hazards.h"

namespace meshwork::testing {

/// How far a mark has come.
class RemoteEvent final : public Event {
 public:
  void wait() override;

 private:
  friend class RemoteStream;
  /// Streams may come to a mark of an event that is gone.
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::int64_t recorded = 0;  ///< by the host
    std::int64_t reached = 0;   ///< by the stream
    std::exception_ptr failure;
    Clock clock;  ///< what stands before the mark recorded last
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// A thread that does, late, what is enqueued. After a failure it does nothing more, and events
/// behind it tell of it.
class RemoteStream final : public Stream {
 public:
  RemoteStream(std::shared_ptr<Hazards> hazards, int threads, std::uint64_t seed);
  ~RemoteStream() override;

  /// Work that uses device memory as `uses` say; an Error where nothing orders it behind other
  /// work.
  void enqueue(const std::string& name, const std::vector<Use>& uses, std::function<void()> work);

  bool is_immediate() const override { return false; }
  void copy_to_device(std::byte* device, const std::byte* host, std::int64_t bytes) override;
  void copy_to_host(std::byte* host, const std::byte* device, std::int64_t bytes) override;
  void copy(std::byte* to, const std::byte* from, std::int64_t bytes) override;
  void record(Event& event) override;
  void wait_for(const Event& event) override;
  /// Of work alone: events are the host's.
  Launch recorded(const std::function<void()>& enqueue) override;
  void mark(std::int32_t number) override;
  std::optional<std::int32_t> failed_behind() const override;
  void drain() noexcept override;

  /// Pieces of work, recorded ones and single ones, that the host has enqueued.
  std::int64_t enqueued() const { return enqueued_; }

 private:
  struct Work {
    std::string name;
    std::vector<Use> uses;
    std::function<void()> work;
  };

  void add(const Work& work);
  void push(std::function<void()> work);
  void run(int threads, std::uint64_t seed);

  std::shared_ptr<Hazards> hazards_;
  int id_;
  Clock clock_;  ///< of what the host has enqueued
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool busy_ = false;
  bool stop_ = false;
  std::exception_ptr failure_;
  std::atomic<bool> has_failed_{false};
  std::atomic<std::int32_t> marked_{0};
  std::int64_t enqueued_ = 0;
  std::optional<std::vector<Work>> recording_;  ///< what is enqueued now is not to be done now
  std::thread thread_;
};

}  // namespace meshwork::testing
