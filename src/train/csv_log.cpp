#include "train/csv_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace meshwork {
namespace {

std::string show_number(double value) { return fmt::format("{:.9g}", without_nan_sign(value)); }

std::vector<std::string> columns_for(const Logs& logs, const std::vector<std::string>& expected) {
  std::vector<std::string> columns = expected;
  for (const auto& [name, value] : logs) columns.push_back(name);
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

/// The file as it was when it had `bytes`, which a log was told to go on with.
File open_at(const std::string& path, std::uint64_t bytes) {
  File file = File::open_to_append(path);
  if (file.size() > bytes) file.resize(bytes);
  return file;
}

}  // namespace

std::string csv_cell(const std::string& text, char separator) {
  if (text.find_first_of(std::string("\"\r\n") + separator) == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

MetricsLog::MetricsLog(const std::string& path, std::vector<std::string> expected)
    : file_(File::create(path)), expected_(std::move(expected)) {}

MetricsLog::MetricsLog(const std::string& path, const Json& state)
    : file_(open_at(path, state.at("bytes").get<std::uint64_t>())) {
  // Of a file that is gone there is no header.
  const auto columns = state.at("columns").get<std::vector<std::string>>();
  if (file_.size() == 0) {
    expected_ = columns;
  } else {
    columns_ = columns;
  }
}

Json MetricsLog::state() const {
  return {{"bytes", file_.size()}, {"columns", columns_.value_or(expected_)}};
}

void MetricsLog::add(std::int64_t epoch, const Logs& logs) {
  std::string text;
  if (!columns_) {
    columns_ = columns_for(logs, expected_);
    text = "epoch";
    for (const std::string& name : *columns_) text += ',' + csv_cell(name, ',');
    text += '\n';
  }
  text += std::to_string(epoch);
  for (const std::string& name : *columns_) {
    const auto value = logs.find(name);
    text += ',' + (value == logs.end() ? "NA" : show_number(value->second));
  }
  file_.append(text + '\n');
}

StepsLog::StepsLog(const std::string& path) : file_(File::create(path)) {
  file_.append("step,loss\n");
}

StepsLog::StepsLog(const std::string& path, const Json& state)
    : file_(open_at(path, state.at("bytes").get<std::uint64_t>())) {
  if (file_.size() == 0) file_.append("step,loss\n");
}

Json StepsLog::state() const { return {{"bytes", file_.size()}}; }

void StepsLog::add(std::int64_t step, double loss) {
  file_.append(fmt::format("{},{}\n", step, show_number(loss)));
}

}  // namespace meshwork
