#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/config_arguments.h"
#include "job/job.h"
#include "train/evaluate.h"

namespace meshwork::cli {

/// What every command that runs a job takes: CONFIG [key=value ...] --mesh --device --dump
/// --time-passes --verbose.
struct JobArguments {
  std::shared_ptr<ConfigArguments> config;
  std::string dump;
  bool time_passes = false;
  int verbose = 1;
};

std::shared_ptr<JobArguments> add_job_arguments(Options& options);

/// What commands over trained weights take beside: --from, which is required, and --split.
struct WeightsArguments {
  std::shared_ptr<JobArguments> job;
  std::string from;
  std::string split;
  bool any_model = false;
};

/// The weights that --from names; an Error if there are none.
GivenWeights weights_of(const WeightsArguments& arguments);

std::shared_ptr<WeightsArguments> add_weights_arguments(Options& options);

/// Reads configuration and data headers for this launch, and checks that it has the devices of the
/// mesh; `command`, with these arguments and `options`, is what to propose otherwise.
Job load_job(const ConfigArguments& arguments, const std::string& command,
             const std::vector<std::string>& options = {});

/// The same for a command that runs the job.
Job load_job(const JobArguments& arguments, const std::string& command,
             const std::vector<std::string>& options = {});

using JobMaker = Job (*)(config::Config config, int devices, const std::string& split);

/// The same for a command that reads one split, by make_evaluation_job or make_prediction_job.
Job load_job(const WeightsArguments& arguments, const std::string& command, JobMaker make);

/// The words of a command with these arguments and `options`, as a shell reads them.
std::string command_line(const std::string& command, const ConfigArguments& arguments,
                         const std::vector<std::string>& options = {});

/// Prints to stderr what the passes of the compiler took, if --time-passes asks for it.
void print_pass_times(const Job& job);

/// Prints the program of `kind` for the first device as it is after a pass; where training
/// accumulates gradients, that of a step that does, and that of one that updates, each under a
/// title. An Error of a fusion that does not run.
void print_after_pass(const Job& job, ProgramKind kind, const data::Split& split,
                      const std::string& pass);
/// The same of a program over samples of this signature.
void print_after_pass(const Job& job, ProgramKind kind, const Signature& signature,
                      std::int64_t batch, const std::string& pass);

/// Adds the flag of those that read weights.
void add_any_model(Options& options, bool& any_model);

}  // namespace meshwork::cli
