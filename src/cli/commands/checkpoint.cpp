#include "state/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/byte_size.h"
#include "base/join.h"
#include "base/nearest.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "train/position.h"
#include "train/run_record.h"

namespace meshwork::cli {
namespace {

constexpr const char* kDetails = R"(Examples:
  meshwork checkpoint list runs/keras_guide
      the checkpoints of a run, the oldest first: how far it was, its last epoch's logs; exit code 3
      where one is damaged
  meshwork checkpoint show runs/keras_guide/checkpoints/step-24
      where the run stood, and every tensor; of a run its newest checkpoint
  meshwork checkpoint verify runs/keras_guide
      reads every byte and compares the checksums; exit code 3 and the place where one differs
  meshwork checkpoint diff runs/a runs/b
      tensors that differ, by how much; exit code 1 if any does
  meshwork checkpoint prune runs/keras_guide --keep 1
      removes all but the newest ones, and the best)";

struct Arguments {
  std::vector<std::string> words;  ///< the action, then paths
  std::optional<std::int64_t> keep;
};

[[noreturn]] void fail_without_checkpoint(const std::string& path) {
  fail(ExitCode::kFile, "{}: neither a checkpoint nor a run directory with one", path);
}

/// The checkpoints that a path stands for: one, or those of a run.
std::vector<std::string> checkpoints_of(const std::string& path) {
  if (is_checkpoint(path)) return {path};
  std::vector<std::string> all = list_checkpoints(path + "/checkpoints");
  if (all.empty()) fail_without_checkpoint(path);
  return all;
}

std::string describe(const Position& position) {
  std::vector<std::string> parts{fmt::format("step {}", position.steps),
                                 fmt::format("epoch {}", position.epoch)};
  if (position.step > 0) parts.back() += fmt::format(" and {} steps", position.step);
  for (const auto& [name, value] : position.logs) {
    parts.push_back(fmt::format("{} {:.6g}", name, without_nan_sign(value)));
  }
  return join(parts, ", ");
}

ExitCode list(const Arguments& arguments) {
  const std::string& run = arguments.words[1];
  if (was_killed(run)) {
    say(
        fmt::format("note: {}/run.json says 'running', but no process has the run: it was killed, "
                    "or could not write its end",
                    run));
  }
  ExitCode code = ExitCode::kOk;
  for (const std::string& path : checkpoints_of(run)) {
    try {
      const Checkpoint checkpoint(path);
      const auto bytes = static_cast<double>(total_bytes(checkpoint.index()));
      fmt::print("{}: {}; {}\n", path, describe(position_of(checkpoint)), show_bytes(bytes));
    } catch (const Error& error) {
      if (error.code() != ExitCode::kFile) throw;
      say(error.what());
      code = error.code();
    }
  }
  return code;
}

ExitCode show(const Arguments& arguments) {
  const Checkpoint checkpoint(checkpoints_of(arguments.words[1]).back());
  const CheckpointIndex& index = checkpoint.index();
  fmt::print("{}: {}\n", checkpoint.directory(), describe(position_of(checkpoint)));
  std::size_t width = 0;
  for (const StoredTensor& tensor : index.tensors) width = std::max(width, tensor.path.size());
  for (std::size_t i = 0; i < index.tensors.size(); ++i) {
    const auto slices = std::count_if(index.slices.begin(), index.slices.end(),
                                      [&](const StoredSlice& slice) { return slice.tensor == i; });
    fmt::print("  {:{}}  {} in {} slice{}\n", index.tensors[i].path, width,
               meshwork::describe(index.tensors[i]), slices, slices == 1 ? "" : "s");
  }
  return ExitCode::kOk;
}

ExitCode verify(const Arguments& arguments) {
  for (const std::string& path : checkpoints_of(arguments.words[1])) {
    Checkpoint(path).verify();
    fmt::print("{}: all checksums are right\n", path);
  }
  return ExitCode::kOk;
}

template <class T>
double greatest_difference(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  const auto* left = reinterpret_cast<const T*>(a.data());
  const auto* right = reinterpret_cast<const T*>(b.data());
  double greatest = 0;
  for (std::size_t i = 0; i < a.size() / sizeof(T); ++i) {
    const double difference =
        std::abs(static_cast<double>(left[i]) - static_cast<double>(right[i]));
    if (!(difference <= greatest)) greatest = difference;
  }
  return greatest;
}

std::vector<std::byte> read_whole(const Checkpoint& checkpoint, const GlobalTensor& tensor) {
  std::vector<std::byte> data(static_cast<std::size_t>(num_elements(tensor.shape)) *
                              size_of(tensor.dtype));
  checkpoint.read(tensor, whole_region(tensor.shape), tensor.shape, data.data());
  return data;
}

/// How a tensor of two checkpoints differs; "" where it has the same bits.
std::string difference_of(const Checkpoint& a, const Checkpoint& b, const StoredTensor& tensor) {
  const GlobalTensor global{tensor.path, *dtype_of(tensor), tensor.shape};
  const std::vector<std::byte> left = read_whole(a, global), right = read_whole(b, global);
  if (left == right) return {};
  double greatest = NAN;
  if (global.dtype == DType::kFloat32) greatest = greatest_difference<float>(left, right);
  if (global.dtype == DType::kInt32) greatest = greatest_difference<std::int32_t>(left, right);
  if (global.dtype == DType::kInt64) greatest = greatest_difference<std::int64_t>(left, right);
  return fmt::format("by at most {:.6g}", greatest);
}

ExitCode diff(const Arguments& arguments) {
  const Checkpoint a(checkpoints_of(arguments.words[1]).back());
  const Checkpoint b(checkpoints_of(arguments.words[2]).back());
  std::vector<GlobalTensor> expected;
  for (const StoredTensor& tensor : a.index().tensors) {
    expected.push_back({tensor.path, *dtype_of(tensor), tensor.shape});
  }
  b.check_tensors(expected);
  int differ = 0;
  for (const StoredTensor& tensor : a.index().tensors) {
    const std::string difference = difference_of(a, b, tensor);
    if (difference.empty()) continue;
    ++differ;
    fmt::print("{}: differs {}\n", tensor.path, difference);
  }
  fmt::print("{} of {} tensors differ\n", differ, a.index().tensors.size());
  return differ == 0 ? ExitCode::kOk : ExitCode::kTraining;
}

ExitCode prune(const Arguments& arguments) {
  const std::string& run = arguments.words[1];
  const std::vector<std::string> all = list_checkpoints(run + "/checkpoints");
  if (is_checkpoint(run)) fail(ExitCode::kFile, "{}: a checkpoint; name the run directory", run);
  if (all.empty()) fail_without_checkpoint(run);
  const std::string best = position_of(Checkpoint(all.back())).best;
  const auto kept = static_cast<std::size_t>(arguments.keep.value_or(1));
  for (std::size_t i = 0; i + kept < all.size(); ++i) {
    if (std::filesystem::path(all[i]).filename() == best) continue;
    remove_checkpoint(all[i]);
    fmt::print("removed {}\n", all[i]);
  }
  return ExitCode::kOk;
}

struct Action {
  std::string name;
  std::size_t paths;
  ExitCode (*run)(const Arguments&);
};

ExitCode run(const Arguments& arguments) {
  static const std::vector<Action> actions{{"list", 1, list},
                                           {"show", 1, show},
                                           {"verify", 1, verify},
                                           {"diff", 2, diff},
                                           {"prune", 1, prune}};
  std::vector<std::string> names;
  for (const Action& action : actions) names.push_back(action.name);
  if (arguments.words.empty()) fail("what to do with checkpoints? {}", join(names, ", "));
  for (const Action& action : actions) {
    if (action.name != arguments.words[0]) continue;
    if (arguments.keep && action.name != "prune") {
      fail("checkpoint {} takes no --keep: that is how many prune leaves", action.name);
    }
    if (arguments.words.size() == action.paths + 1) return action.run(arguments);
    fail("checkpoint {} takes {} director{}, not {}", action.name, action.paths,
         action.paths == 1 ? "y" : "ies", arguments.words.size() - 1);
  }
  fail("checkpoint: no action '{}'{}", arguments.words[0], suggestion(arguments.words[0], names));
}

Run add(Options& options) {
  auto arguments = std::make_shared<Arguments>();
  options.add({"ACTION", "list, show, verify, diff or prune; then a run directory or a checkpoint",
               "ACTION"},
              arguments->words);
  options.add({"--keep", "how many checkpoints prune leaves (1)", "N"}, arguments->keep, 0,
              1'000'000);
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Command kCheckpoint{
    .name = "checkpoint",
    .usage = "ACTION DIR [DIR] [options]",
    .summary = "list, show, verify, compare and remove checkpoints",
    .details = kDetails,
    .add = add,
};

}  // namespace meshwork::cli
