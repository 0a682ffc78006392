#include "comm/together.h"

#include <exception>
#include <optional>
#include <string>

#include "base/error.h"

namespace meshwork {
namespace {

struct Failure {
  std::int64_t code = 0;
  std::string message;
  std::exception_ptr foreign;  ///< of an exception that is no Error
};

std::optional<Failure> attempt(const std::function<void()>& work) {
  try {
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
int lowest_failed(Communicator& comm, bool failed) {
  const std::int64_t mine = failed ? comm.size() - comm.rank() : 0;
  std::int64_t highest = 0;
  comm.all_reduce(&mine, &highest, 1, DType::kInt64, Reduction::kMax);
  return highest == 0 ? -1 : static_cast<int>(comm.size() - highest);
}

/// The failure of member `root`, on every member.
void share(Communicator& comm, Failure& failure, int root) {
  std::int64_t header[] = {failure.code, static_cast<std::int64_t>(failure.message.size())};
  comm.broadcast(header, sizeof header, root);
  failure.code = header[0];
  failure.message.resize(static_cast<std::size_t>(header[1]));
  comm.broadcast(failure.message.data(), failure.message.size(), root);
}

}  // namespace

void together(Communicator& comm, const std::function<void()>& work) {
  const std::optional<Failure> mine = attempt(work);
  const int root = lowest_failed(comm, mine.has_value());
  if (root < 0) return;
  Failure shared = mine.value_or(Failure{});
  share(comm, shared, root);
  if (mine && mine->foreign) std::rethrow_exception(mine->foreign);
  throw Error(static_cast<ExitCode>(shared.code), shared.message);
}

}  // namespace meshwork
