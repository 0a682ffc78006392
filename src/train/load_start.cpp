#include "train/load_start.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/quote.h"
#include "comm/collectively.h"
#include "job/same_weights.h"
#include "optim/optimizer.h"
#include "state/problems.h"
#include "train/position.h"

namespace meshwork {
namespace {

std::set<std::string> paths_of(const std::vector<GlobalTensor>& tensors) {
  std::set<std::string> paths;
  for (const GlobalTensor& tensor : tensors) paths.insert(tensor.path);
  return paths;
}

/// Throws an Error where the checkpoint does not have the state of the session's optimizer.
void check_optimizer(const Session& session, const Checkpoint& checkpoint,
                     const std::string& way_out) {
  const std::set<std::string> weights = paths_of(session.weights());
  Problems problems;
  for (const std::size_t i : in_path_order(session.variables())) {
    const GlobalTensor& slot = session.variables()[i];
    if (weights.contains(slot.path)) continue;
    const StoredTensor* stored = find_stored(checkpoint.index().tensors, slot.path);
    if (stored != nullptr && is_same_type(*stored, slot)) continue;
    const std::string type = describe(slot.dtype, slot.shape);
    problems.add([&] {
      return stored == nullptr ? fmt::format("no tensor '{}', {} of the optimizer", slot.path, type)
                               : fmt::format("'{}' is {} in the file, {} of the optimizer",
                                             slot.path, describe(*stored), type);
    });
  }
  problems.throw_if_any(checkpoint.directory(), way_out);
}

/// Of the run that wrote a checkpoint; none where its configuration cannot be read here.
std::optional<std::int64_t> accumulated_steps_of(const Checkpoint& checkpoint) {
  try {
    const config::Config there = config_of(checkpoint);
    if (!there.compile) return std::nullopt;
    return accumulated_steps(there.compile->optimizer);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Throws an Error where the optimizer's steps, and the sums of gradients under way, are of other
/// updates.
void check_accumulation(const config::ClassSpec& optimizer, const Checkpoint& checkpoint,
                        const std::string& way_out) {
  const std::int64_t mine = accumulated_steps(optimizer);
  const std::int64_t theirs = accumulated_steps_of(checkpoint).value_or(mine);
  if (mine == theirs) return;
  fail_at(optimizer.at, "an update takes the gradients of {} step{} here, of {} in {}; {}", mine,
          mine == 1 ? "" : "s", theirs, checkpoint.directory(), way_out);
}

/// What to say of the variables in a checkpoint that nothing here has; "" where there are none.
std::string describe_left(const Session& session, const Checkpoint& checkpoint,
                          std::int64_t iteration) {
  const std::set<std::string> known = paths_of(session.variables());
  std::vector<std::string> left;
  for (const StoredTensor& tensor : checkpoint.index().tensors) {
    const bool is_of_callback = tensor.path.starts_with("callbacks[");
    if (!is_of_callback && !known.contains(tensor.path)) left.push_back(tensor.path);
  }
  if (left.empty()) return "";
  const std::string more = left.size() > 1 ? fmt::format(" and {} more", left.size() - 1) : "";
  return fmt::format(
      "note: --from: {}: '{}'{} are not taken, for neither the model nor its optimizer has them; "
      "the optimizer's steps go on from {}; --weights-only begins with a new optimizer",
      checkpoint.directory(), excerpt(left.front()), more, iteration);
}

}  // namespace

void load_checkpoint(Session& session, const Checkpoint& checkpoint, const std::string& way_out) {
  collectively(session.hosts(), [&] {
    checkpoint.check_tensors(session.weights(), true);
    check_optimizer(session, checkpoint, way_out);
  });
  session.load_variables(checkpoint);
}

LoadedStart load_start(Session& session, const std::string& from) {
  check_same_weights(from, session.hosts());
  std::error_code status;
  if (!std::filesystem::is_directory(from, status)) {
    return {session.load_variables(from)};
  }
  std::optional<Checkpoint> checkpoint;
  collectively(session.hosts(), [&] { checkpoint.emplace(from); });
  const std::string way_out =
      "configure the optimizer and the precision of the checkpoint, or take the weights alone with "
      "--weights-only";
  collectively(session.hosts(), [&] {
    check_accumulation(session.job().config.compile->optimizer, *checkpoint, way_out);
  });
  load_checkpoint(session, *checkpoint, way_out);
  const std::int64_t iteration = position_of(*checkpoint).iteration;
  return {iteration, describe_left(session, *checkpoint, iteration)};
}

}  // namespace meshwork
