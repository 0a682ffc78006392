#include "train/adapt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <type_traits>

#include "comm/collectively.h"
#include "data/statistics.h"
#include "model/input_fields.h"
#include "train/runner.h"

namespace meshwork {
namespace {

using Statistics = std::vector<data::NumberStatistics>;  ///< of each channel

/// Parts of the samples, as many on every mesh, so that their statistics add up in one order.
constexpr std::int64_t kMostParts = 64;
constexpr std::int64_t kMostPartials = 1 << 20;

/// Variables of one layer.
struct Adapted {
  const data::Field* field = nullptr;
  std::int64_t channels = 1;  ///< that numbers of a sample belong to in turn
};

/// The field that feeds an input of the model; nullptr where none does.
const data::Field* field_of(const Job& job, const config::InputSpec& input) {
  std::vector<std::string> fields;
  for (const data::Field& field : job.split.fields) fields.push_back(field.name);
  const auto name = field_for(input, job.config.model, fields, label_names(job.config));
  return name ? job.split.find(*name) : nullptr;
}

/// nullopt: the data do not decide, for something is computed first, also of text or one_hot, or
/// the dimensions that are kept are not the last ones.
std::optional<Adapted> find_data(const Job& job, const DataStatistic& statistic) {
  const auto& inputs = job.config.model.inputs;
  const auto input = std::ranges::find_if(
      inputs, [&](const config::InputSpec& spec) { return spec.name + "/output" == statistic.of; });
  if (input == inputs.end()) return std::nullopt;
  Adapted adapted{field_of(job, *input)};
  if (adapted.field == nullptr || adapted.field->source->info().vocabulary != nullptr ||
      adapted.field->classes > 0) {
    return std::nullopt;
  }
  auto d = std::ssize(input->shape);
  for (auto kept = statistic.kept.rbegin(); kept != statistic.kept.rend(); ++kept, --d) {
    if (*kept != d) return std::nullopt;  // dimension 0 is the batch
    adapted.channels *= input->shape[static_cast<std::size_t>(d - 1)];
  }
  return adapted;
}

/// Part `i` of `parts` of the samples.
data::Split part_of(data::Split split, std::int64_t i, std::int64_t parts) {
  const std::int64_t begin = split.samples * i / parts, end = split.samples * (i + 1) / parts;
  split.first += begin;
  split.samples = end - begin;
  return split;
}

/// Of so many channels, as the field stores them. Each device reads some of the parts.
Statistics stored_statistics(const Session& session, const data::Field& field,
                             std::int64_t num_channels) {
  static_assert(std::is_trivially_copyable_v<data::NumberStatistics>);
  HostGroup& hosts = session.hosts();
  const data::Split& split = session.job().split;
  const auto channels = static_cast<std::size_t>(num_channels);
  const std::int64_t parts = std::clamp<std::int64_t>(kMostPartials / num_channels, 1, kMostParts);
  const std::int64_t rounds = (parts - 1) / hosts.size() + 1;
  Statistics mine(static_cast<std::size_t>(rounds) * channels);
  collectively(hosts, [&] {
    for (std::int64_t i = hosts.rank(), round = 0; i < parts; i += hosts.size(), ++round) {
      const auto part = data::statistics_of(part_of(split, i, parts), field,
                                            reader_threads(session.job()), num_channels);
      std::ranges::copy(part.channels, mine.begin() + round * num_channels);
    }
  });
  Statistics all(mine.size() * static_cast<std::size_t>(hosts.size()));
  hosts.all_gather(mine.data(), mine.size() * sizeof mine[0], all.data());
  Statistics result(channels);
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t at = (i % hosts.size()) * rounds + i / hosts.size();
    for (std::size_t c = 0; c < channels; ++c) {
      result[c].add(all[static_cast<std::size_t>(at) * channels + c]);
    }
  }
  return result;
}

/// As the field reaches the model: its own mean and std come first, which may belong to more
/// channels than the layer keeps.
Statistics statistics_of(const Session& session, const Adapted& adapted) {
  const auto& [means, stds] = adapted.field->normalization;
  const std::size_t normalized = std::max({means.size(), stds.size(), std::size_t{1}});
  const auto channels = static_cast<std::size_t>(adapted.channels);
  Statistics stored = stored_statistics(session, *adapted.field,
                                        static_cast<std::int64_t>(std::lcm(channels, normalized)));
  Statistics result(channels);
  for (std::size_t c = 0; c < stored.size(); ++c) {
    const double mean = means.empty() ? 0 : means[c % means.size()];
    const double std = stds.empty() ? 1 : stds[c % stds.size()];
    stored[c].mean = (stored[c].mean - mean) / std;
    stored[c].squares /= std * std;
    result[c % channels].add(stored[c]);
  }
  return result;
}

std::vector<float> values_of(const Statistics& statistics, Statistic statistic) {
  std::vector<float> values;
  for (const data::NumberStatistics& channel : statistics) {
    const double value = statistic == Statistic::kMean ? channel.mean : std::pow(channel.std(), 2);
    values.push_back(static_cast<float>(value));
  }
  return values;
}

/// What to tell of a layer, of which `adapted` is what its numbers are of.
std::string note_of(const std::string& layer, const std::optional<Adapted>& adapted,
                    std::int64_t samples) {
  if (adapted) {
    return fmt::format("note: {}: mean and variance are those of '{}', {} samples", layer,
                       adapted->field->name, samples);
  }
  return fmt::format(
      "note: {}: mean stays 0 and variance 1, for only of numbers that are an input of the model, "
      "and with its last dimensions as 'axis', does fit find them in the data; give mean and "
      "variance",
      layer);
}

}  // namespace

std::vector<std::string> adapt_to_data(Session& session) {
  const Job& job = session.job();
  const Graph& graph = job.programs.begin()->second.partitioned.graph;
  std::vector<std::string> notes;
  std::map<std::pair<const data::Field*, std::int64_t>, Statistics> known;
  std::map<std::string, std::vector<float>> values;
  for (const Variable& variable : graph.variables) {
    if (!variable.begins_as) continue;
    const Statistic wanted = variable.begins_as->statistic;
    const std::optional<Adapted> adapted = find_data(job, *variable.begins_as);
    if (wanted == Statistic::kMean) {  // every layer has one
      notes.push_back(note_of(graph.node(variable.value).path, adapted, job.split.samples));
    }
    if (!adapted) continue;
    const auto [statistics, is_new] = known.try_emplace({adapted->field, adapted->channels});
    if (is_new) statistics->second = statistics_of(session, *adapted);
    values[variable.path] = values_of(statistics->second, wanted);
  }
  session.set_weights(values);
  return notes;
}

}  // namespace meshwork
