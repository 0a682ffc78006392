#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/join.h"
#include "base/json.h"
#include "base/names.h"
#include "cli/command.h"
#include "cli/rank.h"
#include "config/load_dataset.h"
#include "data/statistics.h"

namespace meshwork::cli {
namespace {

constexpr const char* kDetails = R"(Examples:
  meshwork data datasets/fashion_mnist.yaml
      reads a data set that a file describes: of each split and field the shape, and of its numbers
      mean, standard deviation, least and greatest; of whole numbers how often each occurs; and the
      lines that normalize a field by what its training split is like
  meshwork data configs/fashion_mnist.yaml --split train dataset.take=1000
      the data set of a configuration, which needs no model yet
  meshwork data flowers.yaml --json | python3 -m json.tool

Numbers are those of the files after scale and offset, before mean and std. Columns of a table,
channels of an image and features of a time series are told apart.)";

constexpr std::size_t kShown = 40;  ///< lines of a table, and whole numbers

struct DataArguments {
  std::string file;
  config::Overrides overrides;
  std::string split;
  bool json = false;
};

/// A field of a split, and what its numbers are like; tokens are not read.
struct Row {
  data::Field field;
  std::optional<data::FieldStatistics> statistics;
};

std::vector<Row> rows_of(const data::Split& split) {
  std::vector<Row> rows;
  for (const data::Field& field : split.fields) {
    rows.push_back({field, std::nullopt});
    if (field.source->info().vocabulary != nullptr) continue;
    rows.back().statistics = data::statistics_of(split, field, omp_get_max_threads());
  }
  return rows;
}

bool has_columns(const data::NumberNames& names) { return names.key.ends_with(".columns"); }

/// What a channel is called, of so many: the column, or its place.
std::string channel_name(const data::Field& field, std::size_t i, std::size_t channels) {
  const data::NumberNames& names = field.source->info().names;
  return has_columns(names) && names.texts.size() == channels ? names.texts[i] : std::to_string(i);
}

/// What a whole number stands for, or the number.
std::string number_name(const data::Field& field, std::int64_t number) {
  const data::NumberNames& names = field.source->info().names;
  const bool is_named = !has_columns(names) && !field.conversion.scales() && number >= 0 &&
                        number < static_cast<std::int64_t>(names.texts.size());
  return is_named ? names.texts[static_cast<std::size_t>(number)] : std::to_string(number);
}

/// "[5.84333, 3.05733]", or one number.
std::string list_of(const data::FieldStatistics& statistics,
                    std::string (*number)(const data::NumberStatistics&)) {
  std::string text;
  for (const data::NumberStatistics& channel : statistics.channels) {
    text += (text.empty() ? "" : ", ") + number(channel);
  }
  return statistics.channels.size() == 1 ? text : "[" + text + "]";
}

/// A column of one number is left as it is.
double divisor_of(const data::NumberStatistics& numbers) {
  return numbers.std() > 0 ? numbers.std() : 1;
}

std::string std_of(const data::NumberStatistics& numbers) {
  return fmt::format("{:.6g}", divisor_of(numbers));
}

/// To a ten-thousandth of the deviation: times and coordinates have large means.
std::string mean_of(const data::NumberStatistics& numbers) {
  constexpr int kDigits = 6, kMostDigits = 17;
  const double ratio = std::abs(numbers.mean) / divisor_of(numbers);
  const int more = ratio > 1 ? static_cast<int>(std::log10(ratio)) : 0;
  return fmt::format("{:.{}g}", numbers.mean, std::min(kDigits + more, kMostDigits));
}

void print_channels(const data::Field& field, const data::FieldStatistics& statistics) {
  const auto& channels = statistics.channels;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(channels.size(), kShown); ++i) {
    names.push_back(channels.size() == 1 ? "" : channel_name(field, i, channels.size()));
  }
  std::size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size());
  fmt::print("    {:{}}  {:>12} {:>12} {:>12} {:>12}\n", "", width, "mean", "std", "least",
             "greatest");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const data::NumberStatistics& numbers = channels[i];
    if (numbers.count == 0) {
      fmt::print("    {:{}}  none of {} numbers is finite\n", names[i], width, numbers.not_finite);
      continue;
    }
    const std::string rest = numbers.not_finite == 0
                                 ? ""
                                 : fmt::format("  and {} that are not finite", numbers.not_finite);
    fmt::print("    {:{}}  {:12.6g} {:12.6g} {:12.6g} {:12.6g}{}\n", names[i], width, numbers.mean,
               numbers.std(), numbers.least, numbers.greatest, rest);
  }
  if (names.size() < channels.size()) {
    fmt::print("    and {} more; --json has them all\n", channels.size() - names.size());
  }
}

void print_counts(const data::Field& field, const data::FieldStatistics& statistics) {
  std::vector<std::string> shown;
  for (const auto& [number, times] : statistics.counts) {
    if (shown.size() == kShown) break;
    shown.push_back(fmt::format("{} ({})", number_name(field, number), times));
  }
  const bool are_all = shown.size() == statistics.counts.size();
  fmt::print("    {} different: {}{}\n", statistics.counts.size(), join(shown, ", "),
             are_all ? "" : "; --json has them all");
}

/// The line that normalizes numbers which training takes as they are.
void print_advice(const data::Field& field, const data::FieldStatistics& statistics) {
  const auto& channels = statistics.channels;
  const auto has_numbers = [](const auto& channel) {
    return channel.count > 0 && std::isfinite(channel.std());
  };
  const bool are_classes = field.classes > 0;
  if (field.dtype != DType::kFloat32 || are_classes || channels.size() > kShown) return;
  if (!std::ranges::all_of(channels, has_numbers)) return;
  fmt::print("    to normalize: {}: {{mean: {}, std: {}}}\n", field.name,
             list_of(statistics, mean_of), list_of(statistics, std_of));
}

void print_row(const Row& row, bool is_training) {
  fmt::print("  {}, stored as {}\n", row.field.name, to_string(row.field.source->info().dtype));
  if (!row.statistics) {
    const data::Vocabulary& vocabulary = *row.field.source->info().vocabulary;
    const std::size_t different = vocabulary.texts.size();  // 0: nobody says
    fmt::print("    numbers of {}{}s\n",
               different == 0 ? "" : fmt::format("{} different ", different), vocabulary.unit);
  } else if (!row.statistics->counts.empty()) {
    print_counts(row.field, *row.statistics);
  } else {
    print_channels(row.field, *row.statistics);
    if (is_training) print_advice(row.field, *row.statistics);
  }
}

nlohmann::ordered_json json_of(const Row& row) {
  nlohmann::ordered_json json{{"dtype", to_string(row.field.dtype)},
                              {"shape", row.field.shape},
                              {"stored", to_string(row.field.source->info().dtype)}};
  if (!row.statistics) return json;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();  // null in JSON
  for (std::size_t i = 0; i < row.statistics->channels.size(); ++i) {
    const data::NumberStatistics& numbers = row.statistics->channels[i];
    json["channels"].push_back(
        {{"name", channel_name(row.field, i, row.statistics->channels.size())},
         {"mean", numbers.count == 0 ? kNone : numbers.mean},
         {"std", numbers.count == 0 ? kNone : numbers.std()},
         {"least", numbers.least},
         {"greatest", numbers.greatest},
         {"not_finite", numbers.not_finite}});
  }
  for (const auto& [number, times] : row.statistics->counts) {
    json["counts"][std::to_string(number)] = times;
  }
  return json;
}

/// A split, and its rows before windows are cut from them.
struct Contents {
  data::Split split;
  data::Split rows;
  std::string missing;  ///< why labels are not there
};

/// Data to predict on need no labels.
Contents contents_of(const config::Value& description, const data::Dataset& dataset,
                     const std::string& name) {
  try {
    return {dataset.split(name), dataset.rows(name), ""};
  } catch (const Error& error) {
    data::Dataset unlabelled(description, 0);
    std::vector<std::string> fields = unlabelled.field_names();
    std::erase(fields, names::kLabels);
    if (name == "train" || fields.empty()) throw;
    unlabelled.keep_fields(fields);
    return {unlabelled.split(name), unlabelled.rows(name), error.what()};
  }
}

void print_text(const Contents& contents, const std::vector<Row>& rows) {
  fmt::print("{}\n", data::describe(contents.split));
  for (const Row& row : rows) print_row(row, contents.split.name == "train");
  if (!contents.missing.empty()) fmt::print("  no labels: {}\n", contents.missing);
}

ExitCode run(const DataArguments& arguments) {
  if (launched_rank() != 0) return ExitCode::kOk;
  const config::Value description = config::load_dataset(arguments.file, arguments.overrides);
  const data::Dataset dataset(description, 0);
  const std::vector<std::string> splits =
      arguments.split.empty() ? dataset.split_names() : std::vector{arguments.split};
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const std::string& name : splits) {
    const Contents contents = contents_of(description, dataset, name);
    const std::vector<Row> rows = rows_of(contents.rows);
    if (!arguments.json) {
      print_text(contents, rows);
      continue;
    }
    json[name]["samples"] = contents.split.samples;
    for (const Row& row : rows) json[name]["fields"][row.field.name] = json_of(row);
  }
  if (arguments.json) fmt::print("{}\n", json_dump(json, 2));
  return ExitCode::kOk;
}

Run add(Options& options) {
  auto arguments = std::make_shared<DataArguments>();
  options.add(
      {"FILE", "a configuration, or the description of a data set, a YAML file", "FILE", true},
      arguments->file);
  options.add({"key=value", "changes to it: dataset.take=1000 (null removes a key)", ""},
              arguments->overrides.assignments);
  options.add({"--split", "this split alone", "SPLIT"}, arguments->split);
  options.add_flag("--json", "the same as JSON", arguments->json);
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Command kData{
    .name = "data",
    .usage = "FILE [key=value ...] [options]",
    .summary = "what a data set holds: shapes, means, deviations, classes; how to normalize it",
    .details = kDetails,
    .add = add,
};

}  // namespace meshwork::cli
