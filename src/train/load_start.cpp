#include "train/load_start.h"

#include <filesystem>
#include <optional>

#include "comm/collectively.h"
#include "train/position.h"

namespace meshwork {

std::int64_t load_start(Session& session, const std::string& from) {
  std::error_code status;
  if (!std::filesystem::is_directory(from, status)) return session.load_variables(from);
  std::optional<Checkpoint> checkpoint;
  collectively(session.hosts(), [&] { checkpoint.emplace(from); });
  session.load_variables(*checkpoint);
  return position_of(*checkpoint).iteration;
}

}  // namespace meshwork
