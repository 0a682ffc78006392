#include "train/csv_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/join.h"
#include "data/formats/csv_reader.h"
#include "state/json_integer.h"

namespace meshwork {
namespace {

std::string show_number(double value) { return fmt::format("{:.9g}", without_nan_sign(value)); }

std::string first_line(const std::string& path) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 20U;
  const File file = File::open(path);
  std::string text(std::min(file.size(), kMost), '\0');
  file.read_at(text.data(), text.size(), 0);
  return text.substr(0, text.find('\n'));
}

std::vector<std::string> cells_of(const std::string& path, const std::string& line) {
  data::CsvReader reader(path, line, ',');
  std::vector<std::string_view> cells;
  if (!reader.next(cells)) return {""};
  return {cells.begin(), cells.end()};
}

}  // namespace

std::string csv_cell(const std::string& text, char separator) {
  if (text.find_first_of(std::string("\"\r\n") + separator) == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string describe_left_out(const std::string& path, const std::vector<std::string>& columns,
                              const std::vector<std::string>& names) {
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    const bool has_column = std::find(columns.begin(), columns.end(), name) != columns.end();
    if (!has_column) missing.push_back(fmt::format("'{}'", name));
  }
  if (missing.empty()) return "";
  return fmt::format(
      "note: {}: it was begun without {}, and goes on without; 'log_format: [csv, jsonl]' also "
      "writes a file that has a place for them",
      path, join(missing, ", "));
}

std::string describe_missing_rows(const Error& error) {
  return fmt::format("warning: {}; training goes on, and rows are missing until it can be written",
                     error.what());
}

File open_log(const std::string& path, const Json* state) {
  if (state == nullptr) {
    File::create(path).close();
    return File::open_to_append(path);  // also behind what is taken back
  }
  constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  return open_lines_at(path, state->is_null() ? kAll : unsigned_of(state->at("bytes")));
}

CsvLog::CsvLog(const std::string& path, const std::string& key, const Json* state)
    : file_(open_log(path, state)), key_(key), has_header_(file_.bytes() > 0) {
  if (state == nullptr) return;
  if (!state->is_null()) {
    columns_ = state->at("columns").get<std::vector<std::string>>();
  } else if (has_header_) {
    columns_ = cells_of(path, first_line(path));
    has_header_ = columns_.front() == key_;
    if (!has_header_) columns_.resize(1);
    columns_.erase(columns_.begin());
  }
}

Json CsvLog::state() const { return {{"bytes", file_.bytes()}, {"columns", columns_}}; }

std::string CsvLog::describe_left_out(const std::vector<std::string>& names) const {
  if (!has_header_) return "";
  return meshwork::describe_left_out(file_.path(), columns_, names);
}

void CsvLog::add(const LogRow& row) {
  std::string text;
  if (columns_.empty()) {
    for (const auto& [name, value] : row.values) columns_.push_back(name);
  }
  if (!has_header_) {
    text = key_;
    for (const std::string& name : columns_) text += ',' + csv_cell(name, ',');
    text += '\n';
  }
  text += std::to_string(row.number);
  for (const std::string& name : columns_) {
    const auto value = std::find_if(row.values.begin(), row.values.end(),
                                    [&](const auto& each) { return each.first == name; });
    const bool has_value = value != row.values.end() && value->second;
    text += ',' + (has_value ? show_number(*value->second) : "NA");
  }
  file_.append(text + '\n');
  has_header_ = true;
}

const LogFormat log_files::kCsv{.names = {"csv"},
                                .open = [](const std::string& path, const std::string& key,
                                           const Json* state) -> std::unique_ptr<LogFile> {
                                  return std::make_unique<CsvLog>(path, key, state);
                                }};

}  // namespace meshwork
