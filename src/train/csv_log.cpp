#include "train/csv_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "state/json_integer.h"

namespace meshwork {
namespace {

std::string show_number(double value) { return fmt::format("{:.9g}", without_nan_sign(value)); }

}  // namespace

std::string csv_cell(const std::string& text, char separator) {
  if (text.find_first_of(std::string("\"\r\n") + separator) == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

File open_log_at(const std::string& path, std::uint64_t bytes) {
  File file = File::open_to_append(path);
  if (file.size() > bytes) file.resize(bytes);
  return file;
}

CsvLog::CsvLog(const std::string& path, const std::string& key)
    : file_(File::create(path)), key_(key) {}

CsvLog::CsvLog(const std::string& path, const std::string& key, const Json& state)
    : file_(open_log_at(path, unsigned_of(state.at("bytes")))),
      key_(key),
      columns_(state.at("columns").get<std::vector<std::string>>()),
      has_header_(file_.size() > 0) {}

Json CsvLog::state() const { return {{"bytes", file_.size()}, {"columns", columns_}}; }

void CsvLog::add(const LogRow& row) {
  std::string text;
  if (columns_.empty()) {
    for (const auto& [name, value] : row.values) columns_.push_back(name);
  }
  if (!has_header_) {
    text = key_;
    for (const std::string& name : columns_) text += ',' + csv_cell(name, ',');
    text += '\n';
    has_header_ = true;
  }
  text += std::to_string(row.number);
  for (const std::string& name : columns_) {
    const auto value = std::find_if(row.values.begin(), row.values.end(),
                                    [&](const auto& each) { return each.first == name; });
    const bool has_value = value != row.values.end() && value->second;
    text += ',' + (has_value ? show_number(*value->second) : "NA");
  }
  file_.append(text + '\n');
}

const LogFormat log_files::kCsv{.names = {"csv"},
                                .open = [](const std::string& path, const std::string& key,
                                           const Json* state) -> std::unique_ptr<LogFile> {
                                  if (state != nullptr)
                                    return std::make_unique<CsvLog>(path, key, *state);
                                  return std::make_unique<CsvLog>(path, key);
                                }};

}  // namespace meshwork
