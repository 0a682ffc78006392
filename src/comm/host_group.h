#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace meshwork {

/// What the hosts of a job's devices tell each other: few bytes, in memory of the host, and never
/// through a device. Every member makes the same calls in the same order. A lost or failed member
/// ends every pending and later call with an Error of ExitCode::kCommunication; no call waits for
/// ever.
class HostGroup {
 public:
  HostGroup() = default;
  HostGroup(const HostGroup&) = delete;
  HostGroup& operator=(const HostGroup&) = delete;
  virtual ~HostGroup() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// `bytes` of every member, the same number for all, one after the other in `recv`.
  virtual void all_gather(const void* send, std::size_t bytes, void* recv) = 0;

  /// `bytes` of `data` from member `root` to all.
  virtual void broadcast(void* data, std::size_t bytes, int root) = 0;

  virtual void barrier() = 0;

  /// Whether somebody else watches if members get on. Until then a rank that waits here for long
  /// for others ends the job itself.
  virtual void leave_watch_to_others(bool /*do_watch*/) noexcept {}

  /// Ends the job of all members: their calls throw (threads) or their processes stop (ranks).
  virtual void abort(int exit_code) noexcept = 0;
};

/// The words of every member, by rank.
template <class Words>
std::vector<Words> gather_all(HostGroup& group, const Words& mine) {
  static_assert(std::is_trivially_copyable_v<Words>);
  std::vector<Words> all(static_cast<std::size_t>(group.size()));
  group.all_gather(&mine, sizeof mine, all.data());
  return all;
}

/// One number of every member, by rank.
std::vector<std::int64_t> gather(HostGroup& group, std::int64_t mine);

/// The sums over all members, element by element; they wrap around.
std::vector<std::int64_t> sum_over_members(HostGroup& group, const std::vector<std::int64_t>& mine);

/// The text of every member, by rank.
std::vector<std::string> gather_texts(HostGroup& group, const std::string& mine);

/// The text of member `root`, on all.
void broadcast_text(HostGroup& group, std::string& text, int root);

}  // namespace meshwork
