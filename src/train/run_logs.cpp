#include "train/run_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "config/lookup.h"
#include "train/csv_log.h"

namespace meshwork {
namespace {

constexpr const char* kMetrics = "metrics";
constexpr const char* kSteps = "steps";

/// "metrics.csv"
std::string name_of(const std::string& table, const LogFormat& format) {
  return fmt::format("{}.{}", table, format.names.front());
}

std::vector<const LogFormat*> formats_of(const config::FitSpec& fit) {
  if (fit.log_format.empty()) return {&log_files::kCsv};
  std::vector<const LogFormat*> formats;
  for (const config::ClassSpec& spec : fit.log_format) {
    const LogFormat* format = &config::look_up(log_formats(), spec, "log_format");
    if (!spec.args.is_null()) {
      config::fail_at(spec.at, "log_format {} takes no arguments", spec.name);
    }
    if (std::find(formats.begin(), formats.end(), format) == formats.end()) {
      formats.push_back(format);
    }
  }
  return formats;
}

}  // namespace

std::vector<std::string> log_names() {
  std::vector<std::string> names;
  for (const LogFormat* format : log_formats()) {
    for (const char* table : {kMetrics, kSteps}) names.push_back(name_of(table, *format));
  }
  return names;
}

void check_log_formats(const config::FitSpec& fit) { formats_of(fit); }

RunLogs::RunLogs(const config::FitSpec& fit, const std::string& directory,
                 const std::vector<std::string>& expected, const Json& state, Say say)
    : expected_(expected), known_(std::make_unique<Json>(state)), say_(std::move(say)) {
  for (const LogFormat* format : formats_of(fit)) {
    open(*format, directory, kMetrics, "epoch", metrics_);
    const std::string note = metrics_.back().file->describe_left_out(expected_);
    if (!note.empty()) say_(note);
    if (fit.log_steps) open(*format, directory, kSteps, "step", steps_);
  }
}

RunLogs::~RunLogs() = default;

void RunLogs::open(const LogFormat& format, const std::string& directory, const std::string& table,
                   const std::string& key, std::vector<Open>& logs) {
  const std::string name = name_of(table, format);
  const Json state = known_->is_null() ? Json() : known_->value(name, Json());
  const Json* old = known_->is_null() ? nullptr : &state;
  logs.push_back({name, format.open(directory + "/" + name, key, old), false});
}

void RunLogs::add(std::vector<Open>& logs, const LogRow& row) {
  for (Open& log : logs) {
    try {
      log.file->add(row);
    } catch (const Error& error) {
      if (!std::exchange(log.has_failed, true)) say_(describe_missing_rows(error));
    }
  }
}

void RunLogs::add_epoch(std::int64_t epoch, const Logs& logs, const Pace& pace) {
  std::set<std::string> names(expected_.begin(), expected_.end());
  for (const auto& [name, value] : logs) names.insert(name);
  LogRow row{epoch, {}};
  for (const std::string& name : names) {
    const auto value = logs.find(name);
    row.values.emplace_back(
        name, value == logs.end() ? std::nullopt : std::optional<double>(value->second));
  }
  row.values.emplace_back("seconds", pace.seconds);
  row.values.emplace_back("samples_per_second", pace.samples_per_second());
  add(metrics_, row);
}

void RunLogs::add_step(std::int64_t step, double loss, const Pace& pace) {
  add(steps_, {step,
               {{names::kLoss, loss},
                {"seconds", pace.seconds},
                {"samples_per_second", pace.samples_per_second()}}});
}

Json RunLogs::state() const {
  Json json = known_->is_null() ? Json::object() : *known_;
  for (const auto* logs : {&metrics_, &steps_}) {
    for (const Open& log : *logs) json[log.name] = log.file->state();
  }
  return json;
}

}  // namespace meshwork
