#include "train/csv_log.h"

#include <fmt/format.h>

#include <algorithm>
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

}  // namespace

std::string csv_cell(const std::string& text, char separator) {
  if (text.find_first_of(std::string("\"\r\n") + separator) == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

MetricsLog::MetricsLog(const std::string& path, std::vector<std::string> expected)
    : file_(File::create(path)), expected_(std::move(expected)) {}

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

void StepsLog::add(std::int64_t step, double loss) {
  file_.append(fmt::format("{},{}\n", step, show_number(loss)));
}

}  // namespace meshwork
