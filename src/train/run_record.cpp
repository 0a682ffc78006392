#include "train/run_record.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/json.h"
#include "base/terminal.h"
#include "job/mesh_json.h"
#include "job/tuned_products.h"
#include "job/versions.h"
#include "machine/topology.h"
#include "train/json_numbers.h"

namespace meshwork {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kRoom = 8192;
constexpr const char* kRunning = "running";
constexpr const char* kCompleted = "completed";

/// UTC, as ISO 8601 writes it.
std::string now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

std::string file_in(const std::string& run_directory) { return run_directory + "/" + kRecordFile; }

/// That of a run; no object where there is none that can be read.
OrderedJson record_in(const std::string& run_directory) {
  try {
    return json_or_null<OrderedJson>(read_text_file(file_in(run_directory)));
  } catch (const Error&) {
    return {};
  }
}

/// "" where it has none.
std::string text_in(const OrderedJson& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

void add_end(OrderedJson& json, const char* status, ExitCode code) {
  json["status"] = status;
  json["exit_code"] = static_cast<int>(code);
  json["ended"] = now();
}

OrderedJson describe_machine() {
  const DeviceDescription machine = describe_devices();
  return {{"host", machine.host},
          {"processor", machine.processor},
          {"cores", machine.cores},
          {"memory", machine.memory}};
}

/// Of the first device; null where heuristics choose algorithms, and on a CPU.
OrderedJson describe_products(const Job& job) {
  const std::optional<TunedProducts> tuned = tuned_products(job, 0);
  if (!tuned) return nullptr;
  return {{"file", tuned->file},
          {"count", tuned->count},
          {"digest", fmt::format("{:016x}", tuned->digest)}};
}

OrderedJson describe(const StepTimes& times) {
  const double count = std::max<double>(1.0, static_cast<double>(times.count()));
  return {{"median", times.quantile(0.5)}, {"p10", times.quantile(0.1)},
          {"p90", times.quantile(0.9)},    {"p99", times.quantile(0.99)},
          {"mean", times.total() / count}, {"max", times.most()}};
}

}  // namespace

RunRecord::RunRecord(const Job& job, const RunDirectory& directory, const std::string& command)
    : directory_(directory),
      path_(file_in(directory.path())),
      started_(steady_seconds()),
      json_(std::make_unique<OrderedJson>()) {
  const bool by_mpirun = launch_from_environment().by_mpirun;
  OrderedJson& json = *json_;
  json["status"] = kRunning;
  json["command"] = command;
  json["started"] = now();
  json["process"] = {{"id", getpid()}, {"host", host_name()}};
  const std::string& resumed = directory.newest_checkpoint();
  json["resumed_from"] = resumed.empty() ? OrderedJson() : OrderedJson(resumed);
  json["versions"] = versions();
  json["machine"] = describe_machine();
  json["mesh"] = mesh_json(job.mesh);
  json["devices"] = job.mesh.num_devices();
  json["device"] = job.target.name;
  json["tuned_products"] = describe_products(job);
  json["threads_per_device"] = job.target.threads;
  json["launch"] = by_mpirun ? "ranks" : "threads";
  json["batch_size"] = job.config.fit.batch_size;
}

RunRecord::~RunRecord() = default;

void RunRecord::begin() {
  std::string text = json_dump(*json_, 2) + "\n";
  // Room for what the end adds, which finds a full disk.
  text.append(text.size() + kRoom, '\n');
  replace_file(path_, text);
  is_begun_ = true;
}

void RunRecord::add(const TrainerResult& trained) {
  OrderedJson& json = *json_;
  json["epochs"] = trained.epochs;
  json["steps"] = trained.steps;
  json["metrics"] = OrderedJson(logs_to_json(trained.logs));
  json["trained"] = {{"steps", trained.times.count()},
                     {"samples", static_cast<std::int64_t>(trained.pace.samples)},
                     {"seconds", trained.pace.seconds}};
  json["samples_per_second"] = trained.pace.samples_per_second();
  json["step_seconds"] = describe(trained.times);
}

void RunRecord::add(const std::vector<DeviceMemory>& devices) {
  DeviceMemory most;
  for (const DeviceMemory& device : devices) {
    most.variables = std::max(most.variables, device.variables);
    most.arena = std::max(most.arena, device.arena);
    most.collectives = std::max(most.collectives, device.collectives);
    most.samples = std::max(most.samples, device.samples);
    most.data = std::max(most.data, device.data);
    most.process_peak = std::max(most.process_peak, device.process_peak);
  }
  (*json_)["memory"] = {
      {"variables", most.variables}, {"arena", most.arena}, {"collectives", most.collectives},
      {"samples", most.samples},     {"data", most.data},   {"process_peak", most.process_peak}};
}

void RunRecord::complete(std::uint64_t digest) {
  (*json_)["digest"] = fmt::format("{:016x}", digest);
  end(kCompleted, ExitCode::kOk);
}

void RunRecord::stop(const std::string& message) {
  (*json_)["message"] = message;
  end("stopped", ExitCode::kStopped);
}

void RunRecord::fail(ExitCode code, const std::string& message) {
  (*json_)["message"] = message;
  end("failed", code);
}

void RunRecord::end(const char* status, ExitCode code) {
  OrderedJson& json = *json_;
  add_end(json, status, code);
  json["seconds"] = steady_seconds() - started_;
  if (!is_begun_) return;
  try {
    directory_.check_held();
    replace_or_overwrite(path_, json_dump(json, 2) + "\n");
  } catch (const Error& error) {
    say(fmt::format("warning: {}", error.what()));
  }
}

std::string RunRecord::line() const { return json_dump(*json_); }

void fail_record_in(const std::string& run_directory, ExitCode code, const std::string& message) {
  const std::string path = file_in(run_directory);
  try {
    auto json = json_or_null<OrderedJson>(read_text_file(path));
    if (!json.is_object() || json.value("status", "") != kRunning) return;
    json["message"] = message;
    add_end(json, "failed", code);
    replace_or_overwrite(path, json_dump(json, 2) + "\n");
  } catch (const Error&) {
  }
}

std::string final_digest(const std::string& run_directory) {
  const OrderedJson json = record_in(run_directory);
  return text_in(json, "status") == kCompleted ? text_in(json, "digest") : "";
}

bool was_killed(const std::string& run_directory) {
  try {
    if (is_in_use(run_directory)) return false;
  } catch (const Error&) {
    return false;
  }
  return text_in(record_in(run_directory), "status") == kRunning;
}

}  // namespace meshwork
