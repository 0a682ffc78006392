#include "data/formats/csv_columns.h"

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"

namespace meshwork::data {
namespace {

std::size_t resolve(const std::string& path, const CsvLayout& layout, const ColumnName& column) {
  if (column.index) {
    const auto count = static_cast<std::int64_t>(layout.cells);
    const std::int64_t index = *column.index < 0 ? *column.index + count : *column.index;
    if (index >= 0 && index < count) return static_cast<std::size_t>(index);
    fail(ExitCode::kFile, "{}: column {} of {} does not exist in {}", config::to_string(column.at),
         *column.index, count, path);
  }
  const auto found = std::find(layout.names.begin(), layout.names.end(), column.name);
  if (found != layout.names.end()) {
    if (std::find(found + 1, layout.names.end(), column.name) != layout.names.end()) {
      fail(ExitCode::kFile, "{}: {} has several columns '{}'; give the index of one, from 0",
           config::to_string(column.at), path, column.name);
    }
    return static_cast<std::size_t>(found - layout.names.begin());
  }
  fail(ExitCode::kFile, "{}: no column '{}' in {}{}", config::to_string(column.at), column.name,
       path, suggestion(column.name, layout.names));
}

}  // namespace

std::vector<std::size_t> columns_of(const std::string& path, const CsvLayout& layout,
                                    const std::vector<ColumnName>& columns, bool rest) {
  std::vector<std::size_t> named;
  for (const ColumnName& column : columns) {
    // New data have no label: where nobody asks for that field, it may be missing.
    const bool is_there = column.index || std::ranges::count(layout.names, column.name) > 0;
    if (is_there || !rest) named.push_back(resolve(path, layout, column));
  }
  if (!rest) return named;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < layout.cells; ++i) {
    if (std::find(named.begin(), named.end(), i) == named.end()) others.push_back(i);
  }
  return others;
}

std::string name_of_column(const CsvLayout& layout, std::size_t column) {
  return layout.names.empty() ? fmt::format("column {}", column)
                              : fmt::format("column '{}'", layout.names[column]);
}

std::vector<std::string> names_of(const CsvLayout& layout,
                                  const std::vector<std::size_t>& columns) {
  std::vector<std::string> names;
  for (const std::size_t column : columns) names.push_back(layout.names[column]);
  return names;
}

std::vector<std::size_t> in_order_of(const Headers::Header& first, const std::string& path,
                                     const CsvLayout& layout,
                                     const std::vector<std::size_t>& columns) {
  const std::vector<std::string> names = names_of(layout, columns);
  if (names == first.names) return columns;
  std::vector<std::size_t> ordered;
  for (const std::string& name : first.names) {
    const auto found = std::ranges::find(names, name);
    if (std::ranges::count(names, name) != 1 || std::ranges::count(first.names, name) != 1) {
      fail(ExitCode::kFile,
           "{}: {} column '{}', which {} has; name the field's columns, by name or by index from "
           "0, to take others",
           path, found == names.end() ? "no" : "more than one", name, first.path);
    }
    ordered.push_back(columns[static_cast<std::size_t>(found - names.begin())]);
  }
  if (ordered.size() == columns.size()) return ordered;
  const auto extra = std::ranges::find_if(
      names, [&](const std::string& name) { return std::ranges::count(first.names, name) == 0; });
  fail(ExitCode::kFile,
       "{}: column '{}', which {} has not; name the field's columns, by name or by index from 0, "
       "to leave some out",
       path, *extra, first.path);
}

}  // namespace meshwork::data
