#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "comm/communicator.h"

namespace meshwork {

/// Elements that a member sends in all.
std::int64_t sent_by(const CollectiveCall& call, int rank);

/// Breaks unless the call makes sense for `size` members.
void check_call(const CollectiveCall& call, int size);
/// The same, and that the host does what is on the stream.
void check_call(const CollectiveCall& call, int size, const Stream& stream);

/// Data up to this size travel through slots beside the board: one meeting instead of two.
constexpr std::size_t kSlotBytes = 4096;

/// Bytes of a slot for this call; 0: it has none, as `most` are too few.
std::size_t slot_bytes(const CollectiveCall& call, std::size_t most = kSlotBytes);

/// A call of which start enqueues all: nothing is left to poll or to wait for.
class EnqueuedCall : public PreparedCall {
 public:
  bool poll() final { return true; }
  void wait(std::span<PreparedCall* const> /*beside*/) final {}
};

/// The call of a single member: what it sends itself.
std::unique_ptr<PreparedCall> own_copy(const CollectiveCall& call, Stream& stream);

}  // namespace meshwork
