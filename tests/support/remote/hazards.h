#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace meshwork::testing {

/// How much of each stream has happened before: of stream s the first clock[s] pieces of work.
using Clock = std::map<int, std::int64_t>;

/// What happened before either.
void join(Clock& clock, const Clock& other);

/// Bytes of device memory that a piece of work reads or writes.
struct Use {
  const std::byte* begin = nullptr;
  std::int64_t bytes = 0;
  bool writes = false;
};

/// Finds pieces of work on the streams of one device that use the same bytes, one of them writing,
/// while neither happens before the other (Lamport): whether or not they meet in this run.
class Hazards {
 public:
  int add_stream();

  /// Stream `stream` comes to its piece of work number clock[stream], called `name`. Throws an
  /// Error that names both pieces where one of its uses is not ordered behind an earlier one.
  void check(int stream, const Clock& clock, const std::string& name, const std::vector<Use>& uses);

 private:
  struct Past {
    int stream;
    std::int64_t number;
    std::string name;
    Use use;
  };

  std::mutex mutex_;
  int streams_ = 0;
  std::deque<Past> past_;
};

}  // namespace meshwork::testing
