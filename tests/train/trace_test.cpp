// fit --trace: what each device did in some steps, and training as without it.
#include "train/trace.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/views.h"
#include "support/errors.h"
#include "support/full_disk.h"
#include "whole_runs.h"

using namespace meshwork;
using namespace meshwork::testing::runs;
using meshwork::test::contains;
using meshwork::test::error_of;
using meshwork::test::read_log;
using meshwork::test::read_text;
using meshwork::test::TempDirectory;
using meshwork::testing::job_of;

namespace {

/// A span of a row. Times are nanoseconds.
struct Span {
  std::int64_t begin = 0, end = 0;
  std::string name, category;
  nlohmann::json args;
};

/// The spans of a trace by process and row, in order, those that hold others first.
struct Trace {
  std::map<std::pair<int, int>, std::vector<Span>> rows;
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> row_names;
  std::vector<double> losses;

  explicit Trace(const std::string& file) {
    const auto nanoseconds = [](const nlohmann::json& time) {
      return std::llround(time.get<double>() * 1e3);
    };
    const auto all = nlohmann::json::parse(read_text(file));
    for (const auto& entry : all.at("traceEvents")) {
      const int process = entry.at("pid");
      const std::pair row{process, entry.value("tid", 0)};
      const std::string kind = entry.at("ph"), name = entry.at("name");
      if (kind == "C") losses.push_back(entry.at("args").at("loss"));
      if (name == "process_name") processes[process] = entry.at("args").at("name");
      if (name == "thread_name") row_names[row] = entry.at("args").at("name");
      if (kind != "X") continue;
      const std::int64_t begin = nanoseconds(entry.at("ts"));
      rows[row].push_back({begin, begin + nanoseconds(entry.at("dur")), name, entry.at("cat"),
                           entry.value("args", nlohmann::json())});
    }
    for (auto& [row, spans] : rows) {
      std::ranges::stable_sort(spans, [](const Span& a, const Span& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
      });
    }
  }

  const std::vector<Span>& row(int process, const std::string& name) const {
    for (const auto& [row, text] : row_names) {
      if (row.first == process && text == name) return rows.at(row);
    }
    throw std::out_of_range(name);
  }
};

std::vector<Span> named(const std::vector<Span>& spans, const std::string& beginning) {
  std::vector<Span> found;
  for (const Span& span : spans) {
    if (span.name.starts_with(beginning)) found.push_back(span);
  }
  return found;
}

std::string text_with(const std::string& more) {
  return text_of("{Adam: {learning_rate: 0.01}}", "batch_size: 5, epochs: 2" + more);
}

FitOptions traced(const std::string& file, std::int64_t steps) {
  return {.rerun = Rerun::kOverwrite, .trace = {.file = file, .steps = steps}};
}

/// Steps of the program of a device that trains on a batch.
std::size_t steps_of(const Job& job, std::int64_t batch, int device) {
  const Plan plan = compile_for_device(job.programs.at({ProgramKind::kTrain, batch}), job.mesh,
                                       device, memory_query(job));
  const auto is_step = [&](const Instruction& instruction) {
    return instruction.nodes.size() != 1 || !is_view(plan.program, instruction.nodes[0]);
  };
  return static_cast<std::size_t>(std::ranges::count_if(plan.instructions, is_step)) +
         plan.copies.size();
}

}  // namespace

TEST_CASE("a run is the same, to the last bit, whether its steps are recorded or not") {
  const TempDirectory directory;
  for (const char* mesh : {"1x1", "2x2"}) {
    CAPTURE(mesh);
    const std::string text = text_with(", log_steps: true");
    const Outcome without = fit_on(text, mesh, directory.file("without"));
    const Outcome with =
        fit_on(text, mesh, directory.file("with"), 0, traced(directory.file("t.json"), 4));
    CHECK(with.error == "");
    CHECK(with.result.digest == without.result.digest);
    for (const char* log : {"/steps.csv", "/metrics.csv"}) {
      CHECK(read_log(directory.file("with") + log) == read_log(directory.file("without") + log));
    }
    const auto steps = cells_of(read_text(directory.file("with/steps.csv")));
    const Trace trace(directory.file("t.json"));
    REQUIRE(trace.losses.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(trace.losses[i] == doctest::Approx(std::stod(steps.at(4 + i).at(1))).epsilon(1e-6));
    }
  }
}

TEST_CASE("a trace has a process for each device, whose rows are whole and in order") {
  const TempDirectory directory;
  const std::string file = directory.file("deeper/t.json");
  CHECK(fit_on(text_with(""), "2x2", directory.file("run"), 0, traced(file, 5)).error == "");
  const Trace trace(file);
  REQUIRE(trace.processes.size() == 4);
  CHECK(trace.processes.at(4).starts_with("device 3: data 1, model 1 ("));
  for (const auto& [row, spans] : trace.rows) {
    std::vector<std::int64_t> open;
    for (const Span& span : spans) {
      CHECK(span.begin >= 0);
      CHECK(span.end >= span.begin);
      while (!open.empty() && open.back() <= span.begin) open.pop_back();
      if (trace.row_names.at(row) != "host") CHECK(open.empty());  // on it parts stand in steps
      if (!open.empty()) CHECK(span.end <= open.back());
      open.push_back(span.end);
    }
  }

  Job job = job_of(text_with(""), "2x2");
  job.target.threads = 1;
  prepare_fit(job);
  for (int device = 0; device < 4; ++device) {
    CAPTURE(device);
    const std::vector<Span>& host = trace.row(device + 1, "host");
    const std::vector<Span> steps = named(host, "step "), runs = named(host, "run program");
    REQUIRE(steps.size() == 5);
    REQUIRE(runs.size() == 5);
    CHECK(named(host, "wait for data").size() == 5);
    CHECK(named(host, "between steps").size() == 4);
    std::set<std::string> categories;
    for (std::size_t i = 0; i < 5; ++i) {
      CHECK(steps[i].name == fmt::format("step {}", 4 + i));
      std::size_t count = 0;
      for (const Span& span : trace.row(device + 1, "compute")) {
        if (span.begin < runs[i].begin || span.end > runs[i].end) continue;
        if (span.name == "help collectives") continue;
        ++count;
        categories.insert(span.category);
        CHECK(span.args.at("op").get<std::string>() != "");
        CHECK(contains(span.args.at("shape"), "["));
      }
      const std::int64_t batch = (4 + i) % 5 == 0 ? 2 : 5;
      CHECK(count == steps_of(job, batch, device));
    }
    CHECK(categories == std::set<std::string>{"backward", "forward", "update"});
  }
}

TEST_CASE("a collective is under way on all of its members at once, and ends where it is awaited") {
  const TempDirectory directory;
  const std::string file = directory.file("t.json");
  CHECK(fit_on(text_with(""), "2x2", directory.file("run"), 0, traced(file, 6)).error == "");
  const Trace trace(file);
  std::map<nlohmann::json, std::map<int, std::vector<Span>>> groups;
  for (const auto& [row, name] : trace.row_names) {
    if (!name.starts_with("communication") || !trace.rows.contains(row)) continue;
    for (const Span& span : trace.rows.at(row)) {
      CHECK(span.args.at("bytes_sent") > 0);
      CHECK(span.args.at("axes").size() > 0);
      groups[span.args.at("devices")][row.first - 1].push_back(span);
    }
  }
  CHECK(groups.size() >= 4);  // rows and columns of the mesh
  for (auto& [devices, members] : groups) {
    const std::string named = devices.dump();
    CAPTURE(named);
    REQUIRE(members.size() == devices.size());
    const std::size_t count = members.begin()->second.size();
    for (auto& [device, spans] : members) {
      REQUIRE(spans.size() == count);
      std::ranges::sort(spans, {}, &Span::begin);
    }
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t begin = 0, end = std::numeric_limits<std::int64_t>::max();
      for (const auto& [device, spans] : members) {
        CHECK(spans[i].name == members.begin()->second[i].name);
        begin = std::max(begin, spans[i].begin);
        end = std::min(end, spans[i].end);
      }
      CHECK(begin <= end);
    }
  }
  for (int process = 1; process <= 4; ++process) {
    const std::vector<Span>& compute = trace.row(process, "compute");
    CHECK(named(compute, "start ").size() == named(compute, "wait for ").size());
    CHECK(named(compute, "start ").size() > 6);
  }
}

TEST_CASE("steps that only accumulate gradients are recorded, too") {
  const TempDirectory directory;
  const std::string file = directory.file("t.json");
  const std::string text =
      text_of("{SGD: {gradient_accumulation_steps: 2}}", "batch_size: 11, epochs: 4");
  CHECK(fit_on(text, "2x2", directory.file("run"), 0, traced(file, 9)).error == "");
  const Trace trace(file);
  CHECK(named(trace.row(1, "host"), "step ").size() == 5);
}

TEST_CASE("a run that ends early leaves what was recorded") {
  const TempDirectory directory;
  const std::string file = directory.file("t.json");
  CHECK(fit_on(text_with(""), "2x1", directory.file("run"), 0, traced(file, 100)).error == "");
  CHECK(named(Trace(file).row(2, "host"), "step ").size() == 7);
  std::filesystem::remove(file);
  CHECK(fit_on(text_with(", steps_per_epoch: 1"), "2x1", directory.file("run"), 0, traced(file, 1))
            .error == "");
  CHECK(!std::filesystem::exists(file));
}

TEST_CASE("a trace that cannot be written, or cannot be had, is an error before training starts") {
  const TempDirectory directory;
  const std::string run = directory.file("run");
  const auto error_with = [&](const std::string& file) {
    return fit_on(text_with(""), "2x1", run, 0, traced(file, 1));
  };
  CHECK(error_with(directory.path()).code == ExitCode::kFile);
  const Outcome below = error_with(directory.file("run/run.json/t.json"));
  CHECK(below.code == ExitCode::kFile);
  CHECK(!std::filesystem::exists(run + "/metrics.csv"));

  Job job = job_of(text_with(""), "2x1");
  CHECK(error_of([&] { check_trace(job); }) == "");
  job.config.debug.check_numerics = true;
  CHECK(contains(error_of([&] { check_trace(job); }), "check_numerics"));
  job.target.name = "cuda";
  CHECK(contains(error_of([&] { check_trace(job); }), "nsys profile"));
}

TEST_CASE("a disk that is full when the trace is written costs the trace alone") {
  const TempDirectory directory;
  const std::string file = directory.file("t.json");
  Job job = job_of(text_with(""), "1x1");
  prepare_fit(job);
  run_on_devices(job, [&](const World& world) {
    Session session(job, world);
    session.initialize();
    StepTrace trace(session, {.file = file, .steps = 1});
    for (std::int64_t step = 1; step <= 4; ++step) {
      if (!trace.begin(step)) continue;
      for (const HostPart part : {HostPart::kData, HostPart::kBatch}) trace.end_of(part);
      trace.run(session.executable({ProgramKind::kTrain, 5}));
      trace.end_of(HostPart::kProgram);
      trace.end(0.5);
    }
    CHECK(trace.is_full());
    {
      const test::FullDisk full(300);
      CHECK(trace.write().ends_with("there is no trace"));
    }
    CHECK(!std::filesystem::exists(file));
    CHECK(!directory.has_partial_files());
    CHECK(trace.write() == "");
  });
  CHECK(Trace(file).losses == std::vector<double>{0.5});
}
