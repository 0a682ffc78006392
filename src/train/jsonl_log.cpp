// JSON Lines: an object for every row, such as {"epoch":0,"loss":0.4991,"seconds":4.51}
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "train/csv_log.h"

namespace meshwork {
namespace {

class JsonLinesLog : public LogFile {
 public:
  JsonLinesLog(File file, const std::string& key) : file_(std::move(file)), key_(key) {}

  /// Values that are missing are left out; those that are not finite are texts.
  void add(const LogRow& row) override {
    nlohmann::ordered_json json{{key_, row.number}};
    for (const auto& [name, value] : row.values) {
      if (value) json[name] = number_to_json(without_nan_sign(*value));
    }
    file_.append(json_dump(json) + '\n');
  }

  Json state() const override { return {{"bytes", file_.bytes()}}; }

 private:
  GrowingFile file_;
  std::string key_;
};

}  // namespace

const LogFormat log_files::kJsonLines{.names = {"jsonl"},
                                      .open = [](const std::string& path, const std::string& key,
                                                 const Json* state) -> std::unique_ptr<LogFile> {
                                        return std::make_unique<JsonLinesLog>(open_log(path, state),
                                                                              key);
                                      }};

}  // namespace meshwork
