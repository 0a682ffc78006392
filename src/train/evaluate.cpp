#include "train/evaluate.h"

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/join.h"
#include "base/terminal.h"
#include "comm/collectively.h"
#include "job/meaning.h"
#include "job/same_job.h"
#include "job/same_model.h"
#include "train/progress_bar.h"
#include "train/run_record.h"
#include "train/watchdog.h"

namespace meshwork {
namespace {

/// What Hugging Face calls the weights in the directory of a model.
constexpr std::string_view kHuggingFaceWeights[] = {"model.safetensors",
                                                    "model.safetensors.index.json"};

/// With what the names of its older files, and of their parts, begin.
constexpr std::string_view kTorchWeights = "pytorch_model";

/// Whether a file has weights as torch.save() writes them: a pickle, or a zip archive with one.
bool is_of_torch(const std::filesystem::path& path) {
  const std::string suffix = path.extension().string();
  if (suffix != ".bin" && suffix != ".pt" && suffix != ".pth") return false;
  if (!is_regular_file(path.string())) return false;
  const File file = File::open(path.string());
  char first = 0;
  if (file.size() > 0) file.read_at(&first, 1, 0);
  return first == 'P' || first == '\x80';
}

/// Throws Error for weights of PyTorch: to read them means to run what they say.
[[noreturn]] void fail_of_torch(const std::filesystem::path& file) {
  fail(ExitCode::kFile,
       "{}: weights as PyTorch writes them are not read; save them as safetensors: load the model "
       "in transformers, then model.save_pretrained(DIRECTORY, safe_serialization=True)",
       file.string());
}

/// Says what a directory without weights has instead.
[[noreturn]] void fail_without_weights(const std::filesystem::path& directory) {
  std::error_code status;
  for (const auto& entry : std::filesystem::directory_iterator(directory, status)) {
    const bool is_named_so = entry.path().filename().string().starts_with(kTorchWeights);
    if (is_named_so && is_of_torch(entry.path())) fail_of_torch(entry.path());
  }
  if (is_regular_file((directory / "config.json").string())) {
    fail(ExitCode::kFile,
         "{}: a config.json, but no {} beside it; fetch it, or save the model as safetensors: "
         "model.save_pretrained(DIRECTORY, safe_serialization=True)",
         directory.string(), join(kHuggingFaceWeights, " and no "));
  }
  fail(ExitCode::kFile, "{}: no {} and no checkpoint in it; train first: meshwork fit",
       directory.string(), kFinalWeights);
}

/// Warns of final weights that are not those that their run has told of. Their file has no
/// checksums.
void check_final_digest(const std::string& file, std::uint64_t digest) {
  if (std::filesystem::path(file).filename() != kFinalWeights) return;
  const std::string run = run_directory_of(file), theirs = final_digest(run);
  const std::string mine = fmt::format("{:016x}", digest);
  if (theirs.empty() || theirs == mine) return;
  say(
      fmt::format("warning: {}: the weights have the digest {}, and {} by {}/run.json: the file is "
                  "damaged, or of another run",
                  file, mine, theirs, run));
}

}  // namespace

Evaluator::Evaluator(const Session& session, const data::Split& split)
    : session_(session),
      runner_(session, ProgramKind::kEvaluate, split),
      loader_(split, runner_.in_order(), runner_.parts()) {}

std::optional<Logs> Evaluator::run(const std::function<bool()>& goes_on) {
  runner_.reset();
  for (std::int64_t step = 1; step <= loader_.steps_per_epoch(); ++step) {
    runner_.step(loader_);
    if (step < loader_.steps_per_epoch() && !goes_on()) return std::nullopt;
  }
  return runner_.logs();
}

Logs Evaluator::run(std::ostream& out, int verbose) {
  ProgressBar bar(out, session_.is_first() ? verbose : 0, terminal_of(1));
  bar.begin(loader_.steps_per_epoch());
  runner_.reset();
  for (std::int64_t step = 1; step <= loader_.steps_per_epoch(); ++step) {
    runner_.step(loader_);
    bar.update(step, [&] { return runner_.logs(); });
  }
  bar.finish(runner_.logs());
  return runner_.logs();
}

data::Split validation_part(const Job& job) {
  data::Split split = *job.validation;
  const config::FitSpec& fit = job.config.fit;
  const std::int64_t batch = batch_size_of(fit, ProgramKind::kEvaluate);
  if (fit.validation_steps && *fit.validation_steps <= split.samples / batch) {
    split.samples = *fit.validation_steps * batch;
  }
  return split;
}

std::string weights_file(const std::string& from) {
  const std::filesystem::path path(from);
  std::error_code status;
  if (!std::filesystem::is_directory(path, status)) {
    if (is_of_torch(path)) fail_of_torch(path);
    if (is_regular_file(from)) return from;
    fail(ExitCode::kFile,
         "{}: no such directory; --from takes the run directory of a fit, one of its checkpoints, "
         "or a file of weights",
         from);
  }
  if (is_checkpoint(from)) return from;
  const std::string file = (path / kFinalWeights).string();
  if (is_regular_file(file)) return file;
  const std::vector<std::string> checkpoints = list_checkpoints((path / "checkpoints").string());
  if (!checkpoints.empty()) return checkpoints.back();
  for (const std::string_view name : kHuggingFaceWeights) {
    const std::string theirs = (path / name).string();
    if (is_regular_file(theirs)) return theirs;
  }
  fail_without_weights(path);
}

std::string describe_options(const GivenWeights& weights) {
  return weights.any_model ? "--any-model\n" : "";
}

GivenWeights find_weights(const std::string& from, bool any_model) {
  const std::string path = weights_file(from);
  return {path, any_model, path == from ? "" : from};
}

namespace {

void load(Session& session, const std::string& path, bool any_model) {
  session.load_weights(path);
  if (any_model) return;
  collectively(session.hosts(), [&] {
    check_same_model(session.job().config, path);
    check_same_meaning(session.job(), path);
  });
}

/// The path in the directory, which may have another name on each machine, that the first device
/// has.
std::string shared_path(const GivenWeights& weights, const std::string& path, HostGroup& hosts) {
  const std::filesystem::path directory(weights.directory);
  std::string name = std::filesystem::path(path).lexically_relative(directory).string();
  broadcast_text(hosts, name, 0);
  return (directory / name).string();
}

/// What is there now, as the first device sees it; the same where the path is still there.
std::string found_again(const GivenWeights& weights, std::string path, HostGroup& hosts) {
  collectively(hosts, [&] {
    if (hosts.rank() != 0 || is_regular_file(path) || is_checkpoint(path)) return;
    path = weights_file(weights.directory);
  });
  return shared_path(weights, path, hosts);
}

}  // namespace

std::string load(Session& session, const GivenWeights& weights) {
  constexpr int kMostTries = 10;  // a run may remove checkpoints faster than they are read
  const bool is_named = weights.directory.empty();
  std::string path = is_named ? weights.path : shared_path(weights, weights.path, session.hosts());
  for (int tries = 1;; ++tries) {
    try {
      load(session, path, weights.any_model);
      return path;
    } catch (const Error& error) {
      if (error.code() != ExitCode::kFile || is_named || tries == kMostTries) throw;
      const std::string other = found_again(weights, path, session.hosts());
      if (other == path) throw;
      path = other;
    }
  }
}

void prepare_evaluate(Job& job, const data::Split& split) {
  add_programs(job, ProgramKind::kEvaluate, split);
}

FitResult evaluate(const Job& job, const World& world, const GivenWeights& weights, int verbose,
                   std::ostream& out) {
  check_same_job(job, *world.hosts, describe_options(weights));
  Session session = watched_session(job, world);
  const Watchdog watchdog(session);
  const std::string path = load(session, weights);
  Evaluator evaluator(session, job.splits.at(ProgramKind::kEvaluate));
  FitResult result;
  result.logs = session.with_place_of_failure([&] { return evaluator.run(out, verbose); });
  result.digest = session.weights_digest();
  if (session.is_first() && !weights.any_model) check_final_digest(path, result.digest);
  return result;
}

}  // namespace meshwork
