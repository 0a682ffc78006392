// A row per epoch, byte for byte as Keras writes it through Python's csv module
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "state/json_integer.h"
#include "train/callbacks/monitor.h"
#include "train/csv_log.h"

namespace meshwork::callbacks {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

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
    training.collectively([&] {
      if (!training.is_first) return;
      const std::string path = in_run_directory(training, filename_);
      create_parent_directory(path);
      if (!appends_ && !training.resumed) {
        file_ = File::create(path);
        return;
      }
      file_ = File::open_to_append(path);
      writes_header_ = file_->size() == 0;
    });
  }

  /// The first device alone has the file; its state is the one that is saved.
  Json state() const override {
    return {{"bytes", file_ ? file_->size() : 0}, {"columns", columns_}};
  }

  void restore(const Json& state) override {
    const auto bytes = unsigned_of(state.at("bytes"));
    columns_ = state.at("columns").get<std::vector<std::string>>();
    if (file_ && file_->size() > bytes) file_->resize(bytes);
    writes_header_ = bytes == 0;
  }

  void end_epoch(std::int64_t epoch, Logs& logs, Training& training) override {
    if (!file_) return;
    std::string text;
    if (columns_.empty()) {
      columns_ = columns_of(logs);
      if (writes_header_) text += header();
    }
    text += std::to_string(epoch);
    for (const std::string& name : columns_) {
      const auto value = logs.find(name);
      text += separator_ +
              (value == logs.end() ? "NA" : csv_cell(python_text(value->second), separator_[0]));
    }
    text.append(kLineEnd);
    if (!write_or_warn(training, [&] { file_->append(text); })) file_.reset();
  }

 private:
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
  bool writes_header_ = true;
  std::optional<File> file_;  ///< of the first device
  std::vector<std::string> columns_;
};

std::unique_ptr<Callback> read(config::Reader& args, const CallbackContext&) {
  return std::make_unique<CsvLogger>(args);
}

}  // namespace

const CallbackDef kCsvLogger{
    .names = {"CSVLogger", "csv_logger"}, .sets_learning_rate = false, .read = read};

}  // namespace meshwork::callbacks
