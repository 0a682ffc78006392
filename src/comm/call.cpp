#include "comm/call.h"

#include <algorithm>

#include "base/check.h"
#include "comm/blocks.h"

namespace meshwork {
namespace {

using Kind = CollectiveCall::Kind;

std::size_t whole_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

class OwnCopy final : public EnqueuedCall {
 public:
  OwnCopy(const CollectiveCall& call, Stream& stream)
      : stream_(stream),
        send_(call.send),
        recv_(call.recv),
        count_(sent_by(call, 0)),
        dtype_(call.dtype) {}

  void start() override { copy_elements(stream_, recv_, send_, count_, dtype_); }

 private:
  Stream& stream_;
  const void* send_;
  void* recv_;
  std::int64_t count_;
  DType dtype_;
};

}  // namespace

std::int64_t sent_by(const CollectiveCall& call, int rank) {
  switch (call.kind) {
    case Kind::kAllReduce:
      return call.count;
    case Kind::kAllGather:
      return call.counts[static_cast<std::size_t>(rank)];
    case Kind::kReduceScatter:
    case Kind::kAllToAll:
      return total(call.counts);
  }
  return 0;
}

void check_call(const CollectiveCall& call, int size, const Stream& stream) {
  MW_CHECK(stream.is_immediate(), "hosts exchange what is there");
  check_call(call, size);
}

void check_call(const CollectiveCall& call, int size) {
  const bool reduces = call.kind == Kind::kAllReduce || call.kind == Kind::kReduceScatter;
  const bool is_reducible =
      call.dtype == DType::kFloat32 || call.dtype == DType::kInt32 || call.dtype == DType::kInt64;
  MW_CHECK(!reduces || is_reducible, "no reduction of {}", to_string(call.dtype));
  MW_CHECK(call.count >= 0, "{} elements", call.count);
  const auto check_counts = [&](const std::vector<std::int64_t>& counts) {
    MW_CHECK(std::ssize(counts) == size, "{} counts, {} members", counts.size(), size);
    for (const std::int64_t count : counts) MW_CHECK(count >= 0, "a block of {} elements", count);
  };
  if (call.kind != Kind::kAllReduce) check_counts(call.counts);
  if (call.kind == Kind::kAllToAll) check_counts(call.recv_counts);
}

std::size_t slot_bytes(const CollectiveCall& call, std::size_t most) {
  std::int64_t given = call.count;
  if (call.kind == Kind::kAllToAll) return 0;  // members send different amounts
  if (call.kind == Kind::kReduceScatter) given = total(call.counts);
  if (call.kind == Kind::kAllGather) {
    given = *std::max_element(call.counts.begin(), call.counts.end());
  }
  const std::size_t bytes = bytes_of(given, call.dtype);
  return bytes > most ? 0 : std::max<std::size_t>(64, whole_lines(bytes));
}

std::unique_ptr<PreparedCall> own_copy(const CollectiveCall& call, Stream& stream) {
  return std::make_unique<OwnCopy>(call, stream);
}

}  // namespace meshwork
