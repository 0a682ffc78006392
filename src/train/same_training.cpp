#include "train/same_training.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/join.h"
#include "base/quote.h"
#include "config/yaml.h"
#include "model/layer_prints.h"
#include "optim/optimizer.h"
#include "train/position.h"

namespace meshwork {
namespace {

using Prints = std::map<std::string, LayerPrint>;

/// Something of the configuration that is otherwise than in the run that is resumed.
struct Difference {
  std::string key;
  std::string here, there;
};

std::string text_of(const config::ClassSpec& spec) {
  const bool is_plain = spec.args.is_null() || (spec.args.is_map() && spec.args.map.empty());
  return is_plain ? spec.name : fmt::format("{}: {}", spec.name, config::to_line(spec.args));
}

/// The layers of which prints and texts differ. Where one of them is left out, those behind it have
/// other prints, too: such are told of only where there is nothing else.
std::vector<Difference> differences(const Prints& here, const Prints& there) {
  std::vector<Difference> stated, others;
  const auto shown = [](const Prints& prints, const std::string& path) -> std::string {
    const auto print = prints.find(path);
    if (print == prints.end()) return "none";
    return print->second.text.empty() ? "another" : excerpt(print->second.text);
  };
  const auto add = [&](const std::string& path) {
    const std::string key = fmt::format("layer '{}'", path);
    const Difference difference{key, shown(here, path), shown(there, path)};
    (difference.here == difference.there ? others : stated).push_back(difference);
  };
  for (const auto& [path, print] : there) {
    const auto other = here.find(path);
    if (other == here.end() || other->second.hash != print.hash) add(path);
  }
  for (const auto& [path, print] : here) {
    if (!there.contains(path)) add(path);
  }
  return stated.empty() ? others : stated;
}

/// The parts of a loss as the file has them.
std::vector<std::pair<std::string, std::string>> loss_texts(const config::Config& config) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const config::ObjectiveSpec& objective : config.compile->objectives) {
    const bool several = config.compile->objectives.size() > 1;
    const std::string of = several ? fmt::format(" of output '{}'", objective.output) : "";
    texts.emplace_back("loss" + of, objective.loss ? text_of(*objective.loss) : "none");
    texts.emplace_back("loss_weights" + of, fmt::format("{:.9g}", objective.weight));
    texts.emplace_back("labels" + of, objective.label.empty() ? "none" : objective.label);
  }
  std::vector<std::string> weights;
  if (config.fit.class_weight) {
    for (const auto& [number, weight] : config.fit.class_weight->by_class) {
      weights.push_back(fmt::format("{}: {:.9g}", number, weight));
    }
  }
  texts.emplace_back("class_weight", weights.empty() ? "none" : join(weights, ", "));
  return texts;
}

std::optional<Difference> difference_of_loss(const config::Config& here,
                                             const config::Config& there,
                                             const Signature& signature) {
  if (loss_print(here, signature) == loss_print(there, signature)) return std::nullopt;
  const auto mine = loss_texts(here), theirs = loss_texts(there);
  for (std::size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i) {
    if (mine[i] != theirs[i]) return Difference{mine[i].first, mine[i].second, theirs[i].second};
  }
  const auto text = [](const config::Config& config) {
    return config.compile->loss ? text_of(*config.compile->loss) : "none";
  };
  return Difference{"loss", text(here), text(there)};
}

std::string text_of(const config::Value* value) {
  return value == nullptr || value->is_null() ? "none" : config::to_line(*value);
}

const config::Value* find(const config::Value& map, std::string_view key) {
  const config::Value::Entry* const entry = map.is_map() ? map.find(key) : nullptr;
  return entry == nullptr ? nullptr : &entry->value;
}

/// What evaluation sees, too.
std::optional<Difference> difference_of_tokens(const config::Config& here,
                                               const config::Config& there) {
  const Difference tokens{"dataset.mask_tokens", text_of(find(here.dataset, "mask_tokens")),
                          text_of(find(there.dataset, "mask_tokens"))};
  if (tokens.here == tokens.there) return std::nullopt;
  return tokens;
}

/// What becomes of the samples of training batches.
std::vector<Difference> differences_of_samples(const config::Config& here,
                                               const config::Config& there) {
  std::vector<Difference> all;
  const auto add = [&](const std::string& key, const config::Value* mine,
                       const config::Value* theirs) {
    Difference difference{"dataset." + key, text_of(mine), text_of(theirs)};
    if (difference.here != difference.there) all.push_back(std::move(difference));
  };
  add("mix", find(here.dataset, "mix"), find(there.dataset, "mix"));
  std::set<std::string> fields;
  for (const config::Value* dataset : {&here.dataset, &there.dataset}) {
    for (const config::Value::Entry& entry : dataset->map) {
      if (find(entry.value, "augment") != nullptr) fields.insert(entry.key);
    }
  }
  for (const std::string& field : fields) {
    const auto augment = [&](const config::Config& config) -> const config::Value* {
      const config::Value* const options = find(config.dataset, field);
      return options == nullptr ? nullptr : find(*options, "augment");
    };
    add(field + ".augment", augment(here), augment(there));
  }
  return all;
}

/// The optimizer but for a learning rate that is a number, of which a resumed run tells itself.
std::string text_of_optimizer(config::ClassSpec optimizer) {
  const config::Value::Entry* rate =
      optimizer.args.is_map() ? optimizer.args.find("learning_rate") : nullptr;
  if (rate != nullptr && rate->value.is_scalar()) optimizer.args.take("learning_rate");
  return text_of(optimizer);
}

/// The sum of gradients under way, and the updates that are counted, are of so many steps.
std::optional<Difference> difference_of_accumulation(const config::Config& here,
                                                     const config::Config& there) {
  const std::int64_t mine = accumulated_steps(here.compile->optimizer);
  const std::int64_t theirs = accumulated_steps(there.compile->optimizer);
  if (mine == theirs) return std::nullopt;
  const auto text = [](std::int64_t steps) { return steps == 1 ? "none" : std::to_string(steps); };
  return Difference{"gradient_accumulation_steps", text(mine), text(theirs)};
}

/// What only training sees, and may change.
std::vector<Difference> differences_of_training(const config::Config& here,
                                                const config::Config& there) {
  std::vector<Difference> all;
  const auto add = [&](const char* key, const std::string& mine, const std::string& theirs) {
    if (mine != theirs) all.push_back({key, mine, theirs});
  };
  const auto frozen = [](const config::Config& config) {
    std::vector<std::string> patterns;
    for (const config::PathRule& rule : config.model.freeze) patterns.push_back(rule.pattern);
    return fmt::format("[{}]", join(patterns, ", "));
  };
  add("freeze", frozen(here), frozen(there));
  // A rule of `freeze` tells of the layers that it changes, which themselves are as they were.
  const bool is_told = !all.empty();
  for (const Difference& layer : differences(training_prints(here), training_prints(there))) {
    if (layer.here != layer.there || !is_told) all.push_back(layer);
  }
  add("optimizer", text_of_optimizer(here.compile->optimizer),
      text_of_optimizer(there.compile->optimizer));
  add("precision", to_string(here.precision), to_string(there.precision));
  for (Difference& sample : differences_of_samples(here, there)) all.push_back(std::move(sample));
  return all;
}

[[noreturn]] void refuse(const Difference& difference, const std::string& checkpoint) {
  const bool is_stated = difference.here != difference.there;
  fail(
      "{}: {}; a run goes on as the same model with the same loss: leave it as it was, or begin a "
      "new run with --new --from {}",
      checkpoint,
      is_stated ? fmt::format("{} is '{}' here, '{}' in the run that is resumed", difference.key,
                              difference.here, difference.there)
                : fmt::format("{} computes something else here than in the run that is resumed",
                              difference.key),
      checkpoint);
}

[[noreturn]] void refuse_accumulation(const Difference& difference, const std::string& checkpoint) {
  fail(
      "{}: {} is {} here, {} in the run that is resumed; a run goes on with the sums of gradients "
      "that it has: leave it as it was, or begin a new run with --new --from {} --weights-only",
      checkpoint, difference.key, difference.here, difference.there, checkpoint);
}

std::string describe(const Difference& difference, const std::string& checkpoint) {
  const bool is_stated = difference.here != difference.there;
  return fmt::format("note: {}; to keep that run as it is, begin a new one with --new --from {}",
                     is_stated
                         ? fmt::format("{} is '{}' from here on; it was '{}' in the run that is "
                                       "resumed",
                                       difference.key, difference.here, difference.there)
                         : fmt::format("{} is trained otherwise from here on than in the run that "
                                       "is resumed",
                                       difference.key),
                     checkpoint);
}

}  // namespace

std::vector<std::string> check_same_training(const Checkpoint& checkpoint, const Job& job) {
  const std::string& directory = checkpoint.directory();
  const config::Config& here = job.config;
  const Signature signature = signature_of(job.split);
  std::vector<Difference> layers, training;
  std::optional<Difference> loss, tokens, accumulation;
  try {
    config::Config there = config_of(checkpoint);
    there.seed = here.seed;  // another one is an error of its own
    layers = differences(layer_prints(here), layer_prints(there));
    if (layers.empty() && there.compile) loss = difference_of_loss(here, there, signature);
    if (there.compile) accumulation = difference_of_accumulation(here, there);
    if (layers.empty()) tokens = difference_of_tokens(here, there);
    if (layers.empty() && there.compile) training = differences_of_training(here, there);
  } catch (const Error& error) {
    return {fmt::format("note: what {} says of its model cannot be read, and is not compared: {}",
                        directory, error.what())};
  }
  if (!layers.empty()) refuse(layers.front(), directory);
  if (loss) refuse(*loss, directory);
  if (tokens) refuse(*tokens, directory);
  if (accumulation) refuse_accumulation(*accumulation, directory);
  std::vector<std::string> notes;
  for (const Difference& difference : training) notes.push_back(describe(difference, directory));
  return notes;
}

}  // namespace meshwork
