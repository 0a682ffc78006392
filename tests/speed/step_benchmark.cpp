// Times the training steps of a configuration: as they run, and kernel by kernel. Devices are
// threads of this process, or the ranks under mpirun.
//
//   step_benchmark CONFIG [key=value ...] [--mesh MESH] [--seconds S] [--top N] [--no-kernels]
//                  [--json FILE]
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <cstdio>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/job_arguments.h"
#include "cli/rank.h"
#include "job/memory_report.h"
#include "machine/launch.h"
#include "machine/topology.h"
#include "sharding/mesh.h"
#include "speed/fma_peak.h"
#include "speed/report.h"
#include "train/trainer.h"

namespace {

using namespace meshwork;

struct Arguments {
  double seconds = 2;    ///< for the steps, and once more for the kernels
  std::size_t top = 12;  ///< kernels to name
  bool no_kernels = false;
  std::string json;
};

Job make_training(cli::ConfigArguments& config) {
  auto& assignments = config.overrides.assignments;
  assignments.insert(assignments.end(), {"fit.drop_remainder=true", "fit.validation=false"});
  Job job = cli::load_job(config, "fit");
  add_program(job, ProgramKind::kInitialize, 0);
  add_programs(job, ProgramKind::kTrain, job.split);
  return job;
}

/// Steps and kernels in turn, so that what else the machine does falls on both.
void time_samples(Session& session, Runner& runner, data::Loader& loader,
                  const Arguments& arguments, speed::Report& report) {
  speed::StepTimer steps(session, runner, loader, arguments.seconds);
  speed::ProgramTimer program(session.executable({ProgramKind::kTrain, report.batch}),
                              session.hosts(), arguments.seconds, steps.samples(),
                              [&] { runner.fill(loader); });
  for (std::int64_t i = 0; i < steps.samples(); ++i) {
    steps.sample();
    if (i == 0) report.peak_resident_bytes = peak_resident_bytes();
    if (arguments.no_kernels) continue;
    // Without a learning rate weights stay usual numbers, however often they are updated.
    runner.step(loader);
    program.sample();
    session.initialize();
  }
  report.step = steps.times();
  if (!arguments.no_kernels) report.program = program.times();
}

speed::Report measure(const Job& job, const World& world, const Arguments& arguments) {
  Session session(job, world);
  session.initialize();
  Runner runner(session, ProgramKind::kTrain, job.split);
  data::Loader loader(job.split, training_options(job), runner.parts());

  speed::Report report;
  report.config = job.config.file;
  report.mesh = to_string(job.mesh);
  report.devices = job.mesh.num_devices();
  report.by_mpirun = launch_from_environment().by_mpirun;
  report.threads = job.target.threads;
  report.batch = job.config.fit.batch_size;
  report.variable_bytes = session.variable_bytes();
  report.arena_bytes = session.arena_bytes();
  report.kept_data_bytes = kept_data_bytes(job);
  time_samples(session, runner, loader, arguments, report);
  world.hosts->barrier();
  report.peak = speed::fma_peak(job.target.threads);
  return report;
}

int run(int argc, char** argv) {
  CLI::App app("Times the training steps of a configuration.");
  Arguments arguments;
  cli::Options options(app);
  const auto config = cli::add_config_arguments(options);
  app.add_option("--seconds", arguments.seconds, "to time steps for, and kernels for");
  app.add_option("--top", arguments.top, "how many of the slowest kernels to name");
  app.add_flag("--no-kernels", arguments.no_kernels, "only whole steps");
  app.add_option("--json", arguments.json, "a file for all of it");
  CLI11_PARSE(app, argc, argv);
  const Job job = make_training(*config);
  run_on_devices(job, [&](const World& world) {
    const speed::Report report = measure(job, world, arguments);
    if (world.hosts->rank() != 0) return;
    print(report, arguments.top);
    if (!arguments.json.empty()) {
      replace_file(arguments.json, to_json(report, arguments.top).dump(1) + "\n");
    }
  });
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  prepare_process(argv);
  try {
    return run(argc, argv);
  } catch (...) {
    const cli::Ending ending = cli::ending_of(std::current_exception(), cli::launched_rank());
    fmt::print(stderr, "{}\n", ending.message);
    return ending.exit_code;
  }
}
