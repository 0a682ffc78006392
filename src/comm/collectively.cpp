#include "comm/collectively.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/local_work.h"

namespace meshwork {
namespace {

struct Failure {
  std::int64_t code = 0;
  std::string message;
  std::exception_ptr foreign;  ///< of an exception that is no Error
};

std::optional<Failure> attempt(const std::function<void()>& work) {
  try {
    const LocalWork local;
    work();
    return std::nullopt;
  } catch (const Error& error) {
    return Failure{static_cast<std::int64_t>(error.code()), error.what(), nullptr};
  } catch (const std::exception& error) {
    const auto code = static_cast<std::int64_t>(ExitCode::kCommunication);
    return Failure{code, error.what(), std::current_exception()};
  }
}

/// The lowest member that failed; -1 if none did.
int lowest_failed(HostGroup& hosts, bool failed) {
  const std::vector<std::int64_t> all = gather(hosts, failed ? 1 : 0);
  const auto first = std::find(all.begin(), all.end(), 1);
  return first == all.end() ? -1 : static_cast<int>(first - all.begin());
}

/// The failure of member `root`, on every member.
void share(HostGroup& hosts, Failure& failure, int root) {
  hosts.broadcast(&failure.code, sizeof failure.code, root);
  broadcast_text(hosts, failure.message, root);
}

}  // namespace

void collectively(HostGroup& hosts, const std::function<void()>& work) {
  const std::optional<Failure> mine = attempt(work);
  const int root = lowest_failed(hosts, mine.has_value());
  if (root < 0) return;
  Failure shared = mine.value_or(Failure{});
  share(hosts, shared, root);
  if (mine && mine->foreign) std::rethrow_exception(mine->foreign);
  throw Error(static_cast<ExitCode>(shared.code), shared.message);
}

}  // namespace meshwork
