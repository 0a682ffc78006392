#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace meshwork {

/// Work bound to a stream: a call enqueues it there. It has no effect on the host that the host may
/// rely on before it has waited for an event behind it.
using Launch = std::function<void()>;

/// A mark in a stream, to be recorded again and again.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  virtual ~Event() = default;

  /// The host waits until all is done that stood before the mark recorded last; at once if none
  /// was. Throws what went wrong before it.
  virtual void wait() = 0;
};

/// A queue of work of one device, done in order. Work on two streams is ordered by events alone.
///
///     compute.record(done);
///     copies.wait_for(done);                     // nobody has waited so far
///     copies.copy_to_host(staging, device, 4);
///     copies.record(copied);
///     copied.wait();                             // now staging may be read
///
/// An immediate stream, that of a CPU, does all when it is enqueued: it is always empty.
class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  virtual bool is_immediate() const = 0;

  /// Enqueues copies of device memory. `host` is staging memory of the device, which is left alone
  /// until the copy is done. Ranges do not overlap, or are the same.
  virtual void copy_to_device(std::byte* device, const std::byte* host, std::int64_t bytes) = 0;
  virtual void copy_to_host(std::byte* host, const std::byte* device, std::int64_t bytes) = 0;
  virtual void copy(std::byte* to, const std::byte* from, std::int64_t bytes) = 0;

  /// Moves the mark of `event` behind all that is enqueued so far.
  virtual void record(Event& event) = 0;
  /// What is enqueued from now on is done after what stands before the mark that `event` has now.
  virtual void wait_for(const Event& event) = 0;

  /// What `enqueue` enqueues here, and on streams that wait for events of this one and that this
  /// one waits for in the end, as one piece of work. It is not done now: each call of what is
  /// returned enqueues all of it again. Null where that would take as long as to enqueue it piece
  /// by piece, or the device cannot record it.
  virtual Launch recorded(const std::function<void()>& /*enqueue*/) { return nullptr; }

  /// Waits until what was bound to the stream so far can be enqueued without a wait.
  virtual void prepare() {}

  /// Enqueues a note that the stream has come to here, which outlasts what fails behind it.
  virtual void mark(std::int32_t /*number*/) {}
  /// The number of the last note that the stream has come to, 0 before the first. For any thread.
  virtual std::int32_t last_mark() const { return 0; }
  /// Where something has failed, the number of the last mark that was reached; 0 if none was.
  virtual std::optional<std::int32_t> failed_behind() const { return std::nullopt; }

  /// The host waits until nothing is left in the stream, whatever went wrong in it.
  virtual void drain() noexcept = 0;
};

}  // namespace meshwork
