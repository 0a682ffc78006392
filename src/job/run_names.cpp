#include "job/run_names.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "state/run_directory.h"

namespace meshwork {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

constexpr std::size_t kShown = 20;  // names that a line of an error holds

Names read_names(const std::string& file, const Json& json) {
  try {
    return json.get<Names>();
  } catch (const Json::exception&) {
    fail(ExitCode::kFile, "{}: not as a run writes it; take the file away to do without it", file);
  }
}

/// Names as a file has them, which holds UTF-8 alone.
Names as_written(const Names& names) {
  return parse_json<Json>(json_dump(Json(names)), "names").get<Names>();
}

/// "2 is 'c' in run/names.json, 'd' here"
std::string difference(const std::string& file, const Names& there, const Names& here) {
  const auto [first, second] = std::mismatch(there.begin(), there.end(), here.begin(), here.end());
  const auto name = [](const Names& names, const auto& at) {
    return at == names.end() ? std::string("none") : fmt::format("'{}'", *at);
  };
  return fmt::format("{} is {} in {}, {} here", first - there.begin(), name(there, first), file,
                     name(here, second));
}

}  // namespace

void write_names(const data::Split& split, const std::string& directory) {
  Json json = Json::object();
  for (const data::Field& field : split.fields) {
    const auto& names = field.source->info().names;
    if (!names.texts.empty() && !names.may_differ) json[field.name] = names.texts;
  }
  const std::string file = directory + "/" + kNamesFile;
  if (!json.empty()) return replace_file(file, json_dump(json, 1) + "\n");
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
}

void check_same_names(const data::Split& split, const std::string& weights) {
  const std::string file = run_directory_of(weights) + "/" + kNamesFile;
  if (!is_regular_file(file)) return;
  const auto json = json_or_null<Json>(read_text_file(file));
  for (const data::Field& field : split.fields) {
    const data::NumberNames& here = field.source->info().names;
    if (here.texts.empty() || here.may_differ) continue;
    if (!json.is_object() || !json.contains(field.name)) continue;
    const Names there = read_names(file, json[field.name]);
    if (there == as_written(here.texts)) continue;
    const std::string list = there.size() <= kShown ? json_dump(json[field.name]) : "[...]";
    fail(ExitCode::kFile,
         "{}: {} are not those that the weights were trained on: number {}; set dataset.{}={}",
         field.source->info().name, here.key, difference(file, there, here.texts), here.key, list);
  }
}

}  // namespace meshwork
