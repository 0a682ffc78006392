#include "cli/job_arguments.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/join.h"
#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/rank.h"

namespace meshwork::cli {
namespace {

/// A word as a shell reads it back.
std::string quoted(const std::string& word) {
  const auto harmless = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./=:,+@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), harmless)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

std::string command_line(const std::string& command, const ConfigArguments& arguments,
                         const std::vector<std::string>& options) {
  std::string line = "meshwork " + command + " " + quoted(arguments.file);
  for (const std::string& word : arguments.overrides.assignments) line += " " + quoted(word);
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) line += fmt::format(" {} {}", option, quoted(value));
  };
  add("--mesh", arguments.overrides.mesh);
  add("--device", arguments.overrides.device);
  add("--sizes-of", arguments.overrides.sizes_of);
  for (const std::string& word : options) line += " " + quoted(word);
  return line;
}

std::shared_ptr<JobArguments> add_job_arguments(Options& options) {
  auto arguments = std::make_shared<JobArguments>();
  arguments->config = add_config_arguments(options);
  options.add({.name = "--dump",
               .help = "print the program for device 0 after a pass of the compiler and stop: " +
                       join(pass_names(), ", "),
               .value = "PASS"},
              arguments->dump);
  options.add_flag("--time-passes",
                   "print how long each pass of the compiler took, at the end, to stderr",
                   arguments->time_passes);
  options.add({"--verbose",
               "0 only the last line, 1 progress bar (plain lines where there is no terminal), 2 a "
               "line per epoch",
               "LEVEL"},
              arguments->verbose, 0, 2);
  return arguments;
}

std::shared_ptr<WeightsArguments> add_weights_arguments(Options& options) {
  auto arguments = std::make_shared<WeightsArguments>();
  arguments->job = add_job_arguments(options);
  options.add(
      {.name = "--from,--weights",
       .help = "a run directory, a checkpoint, or a file of weights (meshwork export --help)",
       .value = "DIR",
       .is_required = true},
      arguments->from);
  options.add({"--split",
               "train, validation or test; by default what fit validates on; else validation, test "
               "or train, the first that there is",
               "NAME"},
              arguments->split);
  add_any_model(options, arguments->any_model);
  return arguments;
}

void add_any_model(Options& options, bool& any_model) {
  options.add_flag("--any-model",
                   "take the weights though they are of a model that computes something else",
                   any_model);
}

GivenWeights weights_of(const WeightsArguments& arguments) {
  return find_weights(arguments.from, arguments.any_model);
}

Job load_job(const ConfigArguments& arguments, const std::string& command,
             const std::vector<std::string>& options) {
  Job job = make_job(load(arguments), launched_devices());
  check_launch(job, command_line(command, arguments, options));
  return job;
}

Job load_job(const JobArguments& arguments, const std::string& command,
             const std::vector<std::string>& options) {
  Job job = load_job(*arguments.config, command, options);
  if (arguments.time_passes) job.pass_times = std::make_shared<PassTimes>();
  return job;
}

Job load_job(const WeightsArguments& arguments, const std::string& command, JobMaker make) {
  const ConfigArguments& config = *arguments.job->config;
  Job job = make(load(config), launched_devices(), arguments.split);
  check_launch(job, command_line(command, config, {"--from", arguments.from}));
  if (arguments.job->time_passes) job.pass_times = std::make_shared<PassTimes>();
  return job;
}

void print_pass_times(const Job& job) {
  if (job.pass_times && launched_rank() == 0) std::fputs(job.pass_times->table().c_str(), stderr);
}

namespace {

/// Of a fusion that has not run.
[[noreturn]] void fail_without(const std::string& fusion, const Job& job) {
  const config::FusionSpec& spec = job.config.fusion;
  for (const config::FusionSpec::Choice& choice : spec.choices) {
    if (choice.name != fusion || choice.wanted) continue;
    config::fail_at(choice.at, "fusion: '{}' is switched off, so --dump has no program after it",
                    fusion);
  }
  if (!spec.all) fail("--dump: 'fusion: false' switches '{}' off", fusion);
  fail("--dump: '{}' is no fusion of this device ({}); 'plan' shows the program without it", fusion,
       job.target.name);
}

void print_program(const Job& job, const ProgramKey& key, const Signature& signature,
                   const std::string& pass, const std::string& title) {
  bool has_run = false;
  const Dump dump = [&](std::string_view name, const std::string& text) {
    if (name != pass) return;
    has_run = true;
    if (launched_rank() != 0) return;
    fmt::print("{}{}", title, text);
    flush_result();
  };
  const Watch watch{dump, job.pass_times.get()};
  const MemoryQuery query = memory_query(job);
  const GlobalProgram program = compile(job.config, signature, job.mesh, job.target, key.kind,
                                        key.batch, {.watch = watch, .query = query});
  compile_for_device(program, job.mesh, 0, query, 0, watch);
  if (!has_run) fail_without(pass, job);
}

}  // namespace

void print_after_pass(const Job& job, ProgramKind kind, const data::Split& split,
                      const std::string& pass) {
  print_after_pass(job, kind, signature_of(split, kind), batch_size_of(job.config.fit, kind), pass);
}

void print_after_pass(const Job& job, ProgramKind kind, const Signature& signature,
                      std::int64_t batch, const std::string& pass) {
  const std::vector<std::string> known = pass_names();
  if (std::find(known.begin(), known.end(), pass) == known.end()) {
    fail("--dump: no pass '{}'{}", pass, suggestion(pass, known));
  }
  std::string title;
  if (kind == ProgramKind::kTrain && accumulates_gradients(job)) {
    const ProgramKind before = ProgramKind::kAccumulate;
    title = fmt::format("# {}\n", describe(before, batch));
    print_program(job, {before, batch}, signature, pass, title);
    title = fmt::format("\n# {}\n", describe(kind, batch));
  }
  print_program(job, {kind, batch}, signature, pass, title);
  print_pass_times(job);
}

}  // namespace meshwork::cli
