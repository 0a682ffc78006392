// Scalars for TensorBoard, under the names and in the folders that Keras gives them
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <utility>

#include "base/clock.h"
#include "state/json_integer.h"
#include "train/callbacks/monitor.h"
#include "train/event_file.h"

namespace meshwork::callbacks {
namespace {

constexpr std::string_view kValidation = "val_";
constexpr std::string_view kEventFile = "events.out.tfevents.";
constexpr std::array<const char*, 2> kFolders{"train", "validation"};

/// Stands in the names of a run's files: into a folder elsewhere other runs may write, too.
std::string drawn_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

class TensorBoard : public Callback {
 public:
  explicit TensorBoard(config::Reader& args)
      : directory_(args.get("log_dir", "logs")),
        writes_pace_(args.get("write_steps_per_second", false)) {
    if (const config::Value* freq = args.find("update_freq")) {
      const std::string text = freq->as_string("update_freq");
      if (text == "batch") {
        update_freq_ = 1;
      } else if (text != "epoch") {
        update_freq_ = args.require_integer("update_freq", config::at_least(1));
      }
    }
    if (args.find("log_dir") != nullptr) {
      check_place(directory_, args.find("log_dir")->at, args.what());
    }
    // Of what else Keras writes there is nothing to write here.
    args.get("write_graph", true);
    for (const char* key : {"histogram_freq", "profile_batch", "embeddings_freq"}) {
      const std::int64_t wanted = args.get(key, 0);
      if (wanted != 0) refuse(args, key);
    }
    if (args.get("write_images", false)) refuse(args, "write_images");
  }

  void begin_training(Training& training) override {
    is_first_ = training.is_first;
    path_ = in_run_directory(training, directory_);
    begin_timing(training);
    place_ = is_in_run_directory(directory_) ? "" : place_of(training);
    if (!is_first_) return;
    id_ = drawn_id();
    if (training.overwrites && place_.empty()) remove(event_files());
  }

  void begin_epoch(std::int64_t, Training& training) override { begin_timing(training); }

  void end_batch(std::int64_t, std::int64_t, const Logs& logs, Training& training) override {
    const double now = steady_seconds();
    ++batches_;
    if (batches_ % update_freq_ == 0) {
      write(training, [&] {
        if (writes_pace_) add("train", "batch_steps_per_second", batches_, 1 / (now - last_));
        for (const auto& [name, value] : logs) add("train", "batch_" + name, batches_, value);
      });
    }
    last_ = now;
  }

  void end_epoch(std::int64_t epoch, Logs& logs, Training& training) override {
    write(training, [&] {
      Logs all = logs;
      all["learning_rate"] = training.current_rate();
      for (const auto& [name, value] : all) {
        const bool validates = name.starts_with(kValidation);
        const std::string plain = validates ? name.substr(kValidation.size()) : name;
        add(validates ? "validation" : "train", "epoch_" + plain, epoch, value);
        if (validates) {
          add("validation", "evaluation_" + plain + "_vs_iterations", training.iterations(), value);
        }
      }
      if (writes_pace_) {
        const auto steps = static_cast<double>(training.iterations() - iterations_before_);
        add("train", "epoch_steps_per_second", epoch, steps / (steady_seconds() - epoch_began_));
      }
    });
  }

  bool wants_batches() const override { return update_freq_ > 0; }

  /// Files by their names: a run may be moved, or copied.
  Json state() const override {
    Json files = Json::object();
    for (const auto& [folder, old] : old_) {
      files[folder] = {{"name", old.name}, {"bytes", old.bytes}};
    }
    for (const auto& [folder, file] : files_) {
      files[folder] = {{"name", name_of(file.path())}, {"bytes", file.bytes()}};
    }
    return {
        {"batches", batches_}, {"files", files}, {"place", place_}, {"id", id_}, {"kept", kept_}};
  }

  void restore(const Json& state, Training&) override {
    batches_ = integer_of(state.at("batches"));
    // In a folder elsewhere the files may be those of the run that this one is a copy of.
    if (!is_first_ || state.value("place", place_) != place_) return;
    for (const auto& [folder, file] : state.at("files").items()) {
      const char* key = file.contains("name") ? "name" : "path";
      old_[folder] = {name_of(file.at(key).get<std::string>()), unsigned_of(file.at("bytes"))};
    }
    if (!state.contains("id")) return;  // older states do not tell
    id_ = state.at("id").get<std::string>();
    kept_ = state.at("kept").get<std::set<std::string>>();
    remove_later();
  }

 private:
  /// What a run that goes on knows of a file.
  struct Old {
    std::string name;
    std::uint64_t bytes = 0;
  };

  [[noreturn]] static void refuse(config::Reader& args, const char* key) {
    fail_at(args.find(key)->at,
            "{}: {} is not supported; scalars alone are written, so leave it out", args.what(),
            key);
  }

  void begin_timing(const Training& training) {
    iterations_before_ = training.iterations();
    last_ = epoch_began_ = steady_seconds();
  }

  static std::string name_of(const std::string& path) {
    return std::filesystem::path(path).filename().string();
  }

  /// "train/events.out.tfevents.1", ..
  std::set<std::string> event_files() const {
    namespace fs = std::filesystem;
    std::set<std::string> files;
    std::error_code code;
    for (const char* folder : kFolders) {
      for (fs::directory_iterator entry(path_ + "/" + folder, code), end; !code && entry != end;
           entry.increment(code)) {
        const std::string name = name_of(entry->path().string());
        if (name.starts_with(kEventFile)) files.insert(place_in(folder, name));
      }
    }
    return files;
  }

  void remove(const std::set<std::string>& files) const {
    std::error_code ignored;
    for (const std::string& file : files) std::filesystem::remove(path_ + "/" + file, ignored);
  }

  /// Removes the files that the run has begun behind its checkpoint.
  void remove_later() const {
    std::set<std::string> files = event_files();
    std::erase_if(files, [&](const std::string& file) {
      return file.find("." + id_ + ".") == std::string::npos || kept_.contains(file);
    });
    for (const auto& [folder, old] : old_) files.erase(place_in(folder, old.name));
    remove(files);
  }

  static std::string place_in(const std::string& folder, const std::string& name) {
    return folder + "/" + name;
  }

  /// Goes on with the file that the run has begun, where that is still there.
  EventFile open(const std::string& folder) {
    const std::string directory = path_ + "/" + folder;
    const auto old = old_.find(folder);
    if (old == old_.end()) return {directory, id_};
    const std::string path = directory + "/" + old->second.name;
    std::error_code code;
    const auto bytes = std::filesystem::file_size(path, code);
    if (code || bytes < old->second.bytes) {
      kept_.insert(place_in(folder, old->second.name));
      return {directory, id_};
    }
    return {path, old->second.bytes};
  }

  void add(const std::string& folder, const std::string& tag, std::int64_t step, double value) {
    auto file = files_.find(folder);
    if (file == files_.end()) file = files_.emplace(folder, open(folder)).first;
    file->second.add_scalar(tag, step, value);
  }

  /// Of what cannot be written, the rest of this call is missing; the next one is tried again.
  void write(Training& training, const std::function<void()>& work) {
    if (!training.is_first) return;
    try {
      work();
    } catch (const Error& error) {
      if (error.code() != ExitCode::kFile) throw;
      leave_torn_files();
      if (std::exchange(has_failed_, true)) return;
      training.say(fmt::format(
          "warning: {}; training goes on, and scalars are missing until it can be written",
          error.what()));
    }
  }

  /// A reader stops at what may be left of a record, so that another file has to follow.
  void leave_torn_files() {
    std::erase_if(files_, [&](const auto& item) {
      const auto& [folder, file] = item;
      std::error_code code;
      if (std::filesystem::file_size(file.path(), code) == file.bytes() && !code) return false;
      kept_.insert(place_in(folder, name_of(file.path())));
      old_.erase(folder);
      return true;
    });
  }

  std::string directory_;
  bool writes_pace_;
  std::int64_t update_freq_ = 0;  ///< in batches; 0: after epochs alone
  bool is_first_ = true;
  bool has_failed_ = false;  ///< and has warned of it
  std::string path_;
  std::string id_;
  std::string place_;                       ///< of a run that writes to a folder elsewhere
  std::set<std::string> kept_;              ///< files that no run that goes on takes away
  std::map<std::string, Old> old_;          ///< by folder, of a run that goes on
  std::map<std::string, EventFile> files_;  ///< by folder, of the first device
  std::int64_t batches_ = 0;                ///< since training began
  std::int64_t iterations_before_ = 0;      ///< this epoch
  double epoch_began_ = 0;                  ///< seconds of the clock
  double last_ = 0;                         ///< when the last batch ended
};

std::unique_ptr<Callback> read(config::Reader& args, const CallbackContext&) {
  return std::make_unique<TensorBoard>(args);
}

}  // namespace

const CallbackDef kTensorBoard{
    .names = {"TensorBoard", "tensor_board"}, .sets_learning_rate = false, .read = read};

}  // namespace meshwork::callbacks
