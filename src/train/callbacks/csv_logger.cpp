// A row per epoch, byte for byte as Keras writes it through Python's csv module
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "state/json_integer.h"
#include "train/callbacks/monitor.h"
#include "train/csv_log.h"
#include "train/growing_file.h"

namespace meshwork::callbacks {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

/// The epoch of a row; none of a header.
std::optional<std::int64_t> epoch_of(std::string_view row) {
  std::int64_t epoch = 0;
  const auto [end, code] = std::from_chars(row.data(), row.data() + row.size(), epoch);
  return code == std::errc() ? std::optional(epoch) : std::nullopt;
}

/// The whole lines of a text.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (auto end = text.find(kLineEnd); end != std::string_view::npos; end = text.find(kLineEnd)) {
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end + kLineEnd.size());
  }
  return lines;
}

/// Whether the lines behind the first `begin` bytes are rows of one run: their epochs rise, from
/// that of the row before on, and all have as many cells. Rows may be missing, and the last line
/// may be torn.
bool are_rows_of_a_run(std::string_view text, std::size_t begin, char separator) {
  const std::string_view kept = text.substr(0, begin);
  if (begin > 0 && !kept.ends_with(kLineEnd)) return false;
  const std::vector<std::string_view> before = lines_of(kept);
  std::vector<std::string_view> rows = lines_of(text.substr(begin));
  if (before.empty()) {
    if (!rows.empty() && !epoch_of(rows[0])) rows.erase(rows.begin());
  } else if (epoch_of(before.back())) {
    rows.insert(rows.begin(), before.back());
  }
  const auto cells = [&](std::string_view row) { return std::ranges::count(row, separator); };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto epoch = epoch_of(rows[i]);
    if (!epoch) return false;
    if (i == 0) continue;
    if (*epoch <= *epoch_of(rows[i - 1]) || cells(rows[i]) != cells(rows[i - 1])) return false;
  }
  return true;
}

class CsvLogger : public Callback {
 public:
  explicit CsvLogger(config::Reader& args)
      : filename_(args.require("filename").as_string("filename")),
        separator_(args.get("separator", ",")),
        appends_(args.get("append", false)) {
    if (filename_.empty()) {
      fail_at(args.at(), "{}: filename is empty; name a file such as log.csv", args.what());
    }
    check_place(filename_, args.find("filename")->at, args.what());
    if (separator_.size() != 1 || separator_.find_first_of("\"\r\n") == 0) {
      fail_at(args.find("separator")->at, "{}: separator '{}' must be one character", args.what(),
              separator_);
    }
  }

  std::string log_file() const override {
    return std::filesystem::path(filename_).lexically_normal().string();
  }

  void begin_training(Training& training) override {
    place_ = is_in_run_directory(filename_) ? "" : place_of(training);
    training.collectively([&] {
      if (!training.is_first) return;
      const std::string path = in_run_directory(training, filename_);
      create_parent_directory(path);
      if (!appends_ && !training.resumed) File::create(path);
      file_.emplace(File::open_to_append(path));
      is_empty_ = file_->bytes() == 0;
    });
  }

  /// The first device alone has the file; its state is the one that is saved.
  Json state() const override {
    return {{"file", log_file()},
            {"place", place_},
            {"bytes", file_ ? file_->bytes() : 0},
            {"columns", columns_}};
  }

  void restore(const Json& state, Training& training) override {
    training.collectively([&] {
      const bool is_same = state.value("file", log_file()) == log_file();
      if (file_ && is_same && state.value("place", place_) == place_) go_on(state, training);
    });
  }

  void end_epoch(std::int64_t epoch, Logs& logs, Training& training) override {
    if (!file_) return;
    if (columns_.empty()) columns_ = columns_of(logs);
    if (std::exchange(has_gone_on_, false)) say_left_out(logs, training);
    std::string text = is_empty_ ? header() : "";
    text += std::to_string(epoch);
    for (const std::string& name : columns_) {
      const auto value = logs.find(name);
      text += separator_ +
              (value == logs.end() ? "NA" : csv_cell(python_text(value->second), separator_[0]));
    }
    text.append(kLineEnd);
    try {
      file_->append(text);
      is_empty_ = false;
    } catch (const Error& error) {
      if (is_empty_) columns_.clear();  // they are those of the first row that is written
      if (!std::exchange(has_failed_, true)) training.say(describe_missing_rows(error));
    }
  }

 private:
  /// Behind the rows that the run had when its state was saved; those that it wrote later are cut
  /// off, but no others.
  void go_on(const Json& state, Training& training) {
    const std::uint64_t bytes = unsigned_of(state.at("bytes"));
    columns_ = state.at("columns").get<std::vector<std::string>>();
    has_gone_on_ = true;
    // States of earlier versions know, of a file that could not be written, its columns alone.
    const bool is_known = bytes > 0 || columns_.empty();
    if (is_known && file_->bytes() > bytes) cut(bytes, training);
    mend_end(is_known && file_->bytes() < bytes);
  }

  void cut(std::uint64_t bytes, Training& training) {
    const std::string path = file_->path();
    if (!is_own(read_text_file(path), bytes)) {
      training.say(fmt::format(
          "note: CSVLogger: {}: what stands behind the rows that this run had at its checkpoint "
          "may be of another run, and stays",
          path));
      return;
    }
    file_.emplace(open_at(path, bytes));
    is_empty_ = bytes == 0;
  }

  /// A row begins on a line of its own. `has_lost`: the file has less than the run has written.
  void mend_end(bool has_lost) {
    const std::string path = file_->path(), text = read_text_file(path);
    if (text.empty() || text.ends_with(has_lost ? kLineEnd : "\n")) return;
    const std::string begin = header().substr(0, text.size());
    if (!has_lost || is_shared() || (!appends_ && !text.starts_with(begin))) {
      file_->append(kLineEnd);
      return;
    }
    const std::size_t end = text.rfind(kLineEnd);
    const std::size_t whole = end == std::string::npos ? 0 : end + kLineEnd.size();
    file_.emplace(open_at(path, whole));
    is_empty_ = whole == 0;
  }

  bool is_shared() const { return appends_ && !place_.empty(); }

  void say_left_out(const Logs& logs, Training& training) const {
    std::vector<std::string> names;
    for (const auto& [name, value] : logs) names.push_back(name);
    const std::string note = describe_left_out(file_->path(), columns_, names);
    if (!note.empty()) training.say(note);
  }

  /// Whether what stands behind the first `bytes` can only be of this run.
  bool is_own(const std::string& text, std::uint64_t bytes) const {
    const bool has_header = appends_ || bytes == 0 || text.starts_with(header());
    return !is_shared() && has_header && are_rows_of_a_run(text, bytes, separator_[0]);
  }

  /// The names of the first epoch; their twins of validation, too, if it had none.
  static std::vector<std::string> columns_of(const Logs& logs) {
    std::vector<std::string> names;
    for (const auto& [name, value] : logs) names.push_back(name);
    const bool validated = std::any_of(names.begin(), names.end(), [](const std::string& name) {
      return name.starts_with("val_");
    });
    if (validated) return names;
    const std::size_t count = names.size();
    for (std::size_t i = 0; i < count; ++i) names.push_back("val_" + names[i]);
    return names;
  }

  std::string header() const {
    std::string text = "epoch";
    for (const std::string& name : columns_) text += separator_ + csv_cell(name, separator_[0]);
    return text.append(kLineEnd);
  }

  std::string filename_;
  std::string separator_;
  bool appends_;
  std::string place_;                ///< of a run that writes to a file elsewhere
  std::optional<GrowingFile> file_;  ///< of the first device
  bool has_failed_ = false;          ///< a row, of which was warned
  bool has_gone_on_ = false;         ///< and has written no row since
  bool is_empty_ = true;             ///< the file has no header
  std::vector<std::string> columns_;
};

std::unique_ptr<Callback> read(config::Reader& args, const CallbackContext&) {
  return std::make_unique<CsvLogger>(args);
}

}  // namespace

const CallbackDef kCsvLogger{
    .names = {"CSVLogger", "csv_logger"}, .sets_learning_rate = false, .read = read};

}  // namespace meshwork::callbacks
