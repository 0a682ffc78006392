// Comma-separated numbers, a sample per record. Keys of the dataset: header (true), delimiter
// (","). Keys of a field: columns (a name or an index from 0, -1 is the last; or a list of them;
// default: all that no other field names, in the order of the first file), classes (texts that
// stand for 0, 1, 2...), oov (false; true: all other texts stand for the next number), those of
// text_samples.h.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/nearest.h"
#include "data/formats/array_source.h"
#include "data/formats/concatenated.h"
#include "data/formats/csv_columns.h"
#include "data/formats/csv_reader.h"
#include "data/formats/csv_text.h"

namespace meshwork::data {
namespace {

/// As Keras's StringLookup calls it.
constexpr const char* kUnknown = "[UNK]";

/// What the description says of one field.
struct CsvSpec {
  bool header = true;
  char delimiter = ',';
  bool single = false;  ///< one column, not a list of one: samples are scalars
  bool rest = false;    ///< the columns are those that `columns` does not name
  std::vector<ColumnName> columns;
  std::vector<std::string> classes;
  bool oov = false;  ///< one of them is kUnknown, which stands for all others
  std::optional<TextKeys> text = std::nullopt;
  std::string field;                 ///< "x"
  std::vector<std::string> named;    ///< where a field takes the rest, all others
  std::shared_ptr<Headers> headers;  ///< of all entries of the dataset
};

CsvReader reader_of(const FileBytes& file, const CsvSpec& spec) {
  const auto bytes = file.all();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return {file.path(), text, spec.delimiter};
}

/// Without blanks around it: so are cells, and what the description calls them.
std::string_view trim(std::string_view cell) {
  const auto begin = cell.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return cell.substr(begin, cell.find_last_not_of(" \t") - begin + 1);
}

/// What the first line says.
CsvLayout layout_of(const std::vector<std::string_view>& cells, const CsvSpec& spec) {
  CsvLayout layout;
  layout.cells = cells.size();
  if (!spec.header) return layout;
  for (const std::string_view cell : cells) layout.names.emplace_back(trim(cell));
  return layout;
}

CsvLayout scan(const FileBytes& file, const CsvSpec& spec) {
  CsvReader reader = reader_of(file, spec);
  CsvLayout layout;
  std::vector<std::string_view> cells;
  while (reader.next(cells)) {
    if (layout.cells == 0) {
      layout = layout_of(cells, spec);
      if (spec.header) continue;
    }
    if (cells.size() != layout.cells) {
      fail(ExitCode::kFile, "{}: {} cells, but the first line has {}; is the delimiter '{}' right?",
           reader.place(), cells.size(), layout.cells, printable({&spec.delimiter, 1}));
    }
    ++layout.records;
  }
  return layout;
}

class CsvSource : public Source {
 public:
  CsvSource(SourceInfo info, std::unique_ptr<FileBytes> file, CsvSpec spec, CsvLayout layout,
            std::vector<std::size_t> columns)
      : Source(std::move(info)),
        file_(std::move(file)),
        spec_(std::move(spec)),
        layout_(std::move(layout)),
        columns_(std::move(columns)) {
    for (const std::string& name : spec_.classes) {
      classes_.emplace(name, static_cast<std::int32_t>(classes_.size()));
    }
  }

  bool is_resident() const override { return true; }

 private:
  void fetch(std::int64_t /*begin*/, std::int64_t /*count*/, std::byte* out) const override {
    CsvReader reader = reader_of(*file_, spec_);
    std::vector<std::string_view> cells;
    if (spec_.header) reader.next(cells);
    const auto write = [&](auto value) {
      std::memcpy(out, &value, sizeof value);
      out += sizeof value;
    };
    while (reader.next(cells)) {
      for (const std::size_t column : columns_) {
        if (spec_.classes.empty()) {
          write(number(reader, cells[column], column));
        } else {
          write(class_of(reader, cells[column], column));
        }
      }
    }
  }

  std::string column_name(std::size_t column) const { return name_of_column(layout_, column); }

  double number(const CsvReader& reader, std::string_view cell, std::size_t column) const {
    std::string_view digits = trim(cell);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    double value = 0;
    const auto [stop, status] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (status == std::errc{} && stop == digits.data() + digits.size() && std::isfinite(value)) {
      return value;
    }
    fail(ExitCode::kFile, "{}: {}: '{}' is not a {}number{}", reader.place(), column_name(column),
         printable(cell), status == std::errc::result_out_of_range ? "representable " : "finite ",
         trim(cell).empty() ? "; a missing value has to be filled in first"
                            : "; leave the column out, or give its 'classes' if it is a label");
  }

  std::int32_t class_of(const CsvReader& reader, std::string_view cell, std::size_t column) const {
    const std::string_view text = trim(cell);
    const auto found = classes_.find(text);
    if (found != classes_.end()) return found->second;
    if (spec_.oov) return classes_.at(kUnknown);
    fail(ExitCode::kFile, "{}: {}: '{}' is none of the classes{}; with `oov: true` others are one",
         reader.place(), column_name(column), printable(text),
         suggestion(std::string(text), spec_.classes));
  }

  std::unique_ptr<FileBytes> file_;
  CsvSpec spec_;
  CsvLayout layout_;
  std::vector<std::size_t> columns_;
  std::map<std::string, std::int32_t, std::less<>> classes_;
};

Headers::Header header_of(const std::string& path, const CsvLayout& layout, const CsvSpec& spec) {
  return {path, names_of(layout, columns_of(path, layout, spec.columns, spec.rest))};
}

/// The columns of the first file that the description names, or of this one if it is not there.
Headers::Header first_header(const std::string& path, const CsvLayout& layout, const CsvSpec& spec,
                             const OpenContext& context) {
  try {
    const std::string first = paths_of(spec.headers->first.at(spec.field), context).front();
    if (first == path) return header_of(path, layout, spec);
    const FileBytes file(first);
    CsvReader reader = reader_of(file, spec);
    std::vector<std::string_view> cells;
    if (reader.next(cells)) return header_of(first, layout_of(cells, spec), spec);
  } catch (const Error&) {
    // It may come later, and be right.
  }
  return header_of(path, layout, spec);
}

/// The first line of the first file of the labels, or what else other fields name; none where
/// there is no such file, or it is this one.
std::optional<CsvLayout> layout_with_all(const std::string& path, const CsvSpec& spec,
                                         const OpenContext& context, std::string& file) {
  for (const std::string& named : spec.named) {
    const auto files = spec.headers->first.find(named);
    if (files == spec.headers->first.end()) continue;
    try {
      file = paths_of(files->second, context).front();
      if (file == path) return std::nullopt;
      const FileBytes bytes(file);
      CsvReader reader = reader_of(bytes, spec);
      std::vector<std::string_view> cells;
      if (reader.next(cells)) return layout_of(cells, spec);
    } catch (const Error&) {
      // It may come later, and be right.
    }
  }
  return std::nullopt;
}

/// Of files without a header, whose columns have numbers alone, beside a field that takes the rest:
/// new data have no columns of labels, and all theirs are of that field. Their number tells.
std::vector<std::size_t> columns_by_number(const std::string& path, const CsvLayout& layout,
                                           const CsvSpec& spec, const OpenContext& context) {
  std::string file;
  const std::optional<CsvLayout> all = layout_with_all(path, spec, context, file);
  if (!all || all->cells == layout.cells) {
    return columns_of(path, layout, spec.columns, spec.rest);
  }
  if (!spec.rest) {
    fail(ExitCode::kFile,
         "{}: {} columns, but {} has {}; without a header '{}' is found in as many alone; new data "
         "without it are for predict",
         path, layout.cells, file, all->cells, spec.field);
  }
  const std::size_t mine = columns_of(file, *all, spec.columns, spec.rest).size();
  if (layout.cells != mine) {
    fail(ExitCode::kFile,
         "{}: {} columns, but {} has {}, of which {} are of '{}'; without a header a file has all "
         "of them, or, without labels, these alone",
         path, layout.cells, file, all->cells, mine, spec.field);
  }
  std::vector<std::size_t> columns(mine);
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  return columns;
}

bool is_number(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  return status == std::errc{} && stop == end;
}

/// Columns that nobody names have names; else the first line may be a sample, or a column numbers
/// of rows.
void check_header(const std::string& path, const CsvLayout& layout, const CsvSpec& spec,
                  const std::vector<std::size_t>& columns) {
  const bool are_named =
      !spec.rest && std::ranges::none_of(spec.columns, [](const ColumnName& column) {
        return column.index.has_value();
      });
  if (!spec.header || are_named) return;
  const std::vector<std::string> names = names_of(layout, columns);
  if (std::ranges::all_of(names, is_number)) {
    fail(ExitCode::kFile,
         "{}: the first line has '{}' where a column's name is to stand; if it is a sample, say "
         "`header: false`, else list the field's columns by name",
         path, names.front());
  }
  if (spec.rest && columns.front() == 0 && names.front().empty()) {
    fail(ExitCode::kFile,
         "{}: the first column has no name, as the row numbers that pandas writes; leave it out "
         "(to_csv(index=False)), or list the field's columns",
         path);
  }
}

std::unique_ptr<Source> open_csv(const std::string& path, const CsvSpec& spec,
                                 const OpenContext& context) {
  auto file = std::make_unique<FileBytes>(path);
  CsvLayout layout = scan(*file, spec);
  if (layout.cells == 0) fail(ExitCode::kFile, "{}: no records; is it the right file?", path);
  std::vector<std::size_t> columns = !spec.named.empty() && !spec.header
                                         ? columns_by_number(path, layout, spec, context)
                                         : columns_of(path, layout, spec.columns, spec.rest);
  if (spec.rest && spec.header) {
    const std::lock_guard lock(spec.headers->mutex);
    auto& known = spec.headers->of_fields;
    auto first = known.find(spec.field);
    if (first == known.end()) {
      first = known.emplace(spec.field, first_header(path, layout, spec, context)).first;
    }
    columns = in_order_of(first->second, path, layout, columns);
  }
  if (columns.empty()) {
    fail(ExitCode::kFile, "{}: no column of its {} is left for this field", path, layout.cells);
  }
  check_header(path, layout, spec, columns);
  if (spec.text) {
    return open_csv_texts({std::move(file), spec.delimiter, spec.header, columns.front(),
                           name_of_column(layout, columns.front()), layout.records},
                          *spec.text, context);
  }
  const DType dtype = spec.classes.empty() ? DType::kFloat64 : DType::kInt32;
  SourceInfo info{path, {layout.records}, dtype};
  if (!spec.single) info.shape.push_back(static_cast<std::int64_t>(columns.size()));
  if (!spec.classes.empty()) {
    info.names = {spec.field + ".classes", spec.classes};
  } else if (spec.header) {
    info.names = {spec.field + ".columns", names_of(layout, columns), !spec.rest};
  }
  return std::make_unique<CsvSource>(std::move(info), std::move(file), spec, std::move(layout),
                                     std::move(columns));
}

ColumnName read_column(const config::Value& value, bool header) {
  if (value.is_integer()) return {"", value.as_integer("columns"), value.at};
  if (!header) {
    config::fail_at(value.at, "column '{}' has a name, but the file has no header; give its index",
                    value.as_string("columns"));
  }
  return {std::string(trim(value.as_string("columns"))), std::nullopt, value.at};
}

std::vector<ColumnName> read_columns(const config::Value& value, bool header) {
  if (!value.is_list()) return {read_column(value, header)};
  std::vector<ColumnName> columns;
  for (const config::Value& item : value.list) columns.push_back(read_column(item, header));
  return columns;
}

/// The columns that other fields name, for the field that takes the rest.
std::vector<ColumnName> named_elsewhere(const FieldEntry& entry, bool header) {
  std::vector<ColumnName> columns;
  for (const std::string& field : entry.fields) {
    if (field == entry.field) continue;
    const auto* options = entry.description.find(field);
    const auto* other = options == nullptr ? nullptr : options->value.find("columns");
    if (other == nullptr || other->value.is_null()) {
      config::fail_at(entry.description.at,
                      "fields '{}' and '{}' both take all columns that no other names; write "
                      "{}: {{columns: ...}}",
                      entry.field, field, field);
    }
    for (ColumnName& column : read_columns(other->value, header)) columns.push_back(column);
  }
  return columns;
}

Opener parse(const FieldEntry& entry) {
  CsvSpec spec;
  spec.header = entry.dataset.get("header", true);
  const std::string delimiter = entry.dataset.get("delimiter", ",");
  if (delimiter.size() != 1 || std::string_view("\"\r\n").find(delimiter) != std::string::npos) {
    config::fail_at(entry.dataset.find("delimiter")->at,
                    "delimiter must be one character that is no quote and no line end, not '{}'",
                    printable(delimiter));
  }
  spec.delimiter = delimiter[0];
  const config::Value* columns = entry.options.find("columns");
  spec.rest = columns == nullptr;
  spec.single = columns != nullptr && !columns->is_list();
  spec.columns =
      spec.rest ? named_elsewhere(entry, spec.header) : read_columns(*columns, spec.header);
  if (const config::Value* classes = entry.options.find("classes")) {
    if (!classes->is_list()) config::fail_at(classes->at, "classes must be a list of texts");
    for (const config::Value& text : classes->list) {
      const std::string name(trim(text.as_string("classes")));
      if (std::ranges::count(spec.classes, name) > 0) {
        config::fail_at(text.at, "classes has '{}' twice", name);
      }
      spec.classes.push_back(name);
    }
  }
  if (entry.options.get("oov", false)) {
    const config::Value& oov = *entry.options.find("oov");
    if (spec.classes.empty())
      config::fail_at(oov.at, "oov is about `classes`, which are not there");
    if (std::ranges::count(spec.classes, kUnknown) == 0) spec.classes.emplace_back(kUnknown);
    spec.oov = true;
  }
  spec.text = read_text_column(entry.options);
  FileNames files = files_of(entry);
  if (entry.kept == nullptr) entry.kept = std::make_shared<Headers>();
  spec.field = entry.field;
  const auto names_columns = [&](const std::string& field) {
    const auto* options = entry.description.find(field);
    return options != nullptr && options->value.find("columns") != nullptr;
  };
  if (!std::ranges::all_of(entry.fields, names_columns)) {
    std::ranges::copy_if(entry.fields, std::back_inserter(spec.named), names_columns);
  }
  spec.headers = std::static_pointer_cast<Headers>(entry.kept);
  spec.headers->first.emplace(entry.field, files);
  return open_files(std::move(files), [spec](const std::string& path, const OpenContext& context) {
    return open_csv(path, spec, context);
  });
}

}  // namespace

const Format kCsv{.name = "csv", .parse = parse, .takes_files = true};

}  // namespace meshwork::data
