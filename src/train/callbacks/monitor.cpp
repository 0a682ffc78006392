#include "train/callbacks/monitor.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/nearest.h"

namespace meshwork {
namespace {

const KnownLog& find_log(const config::Reader& args, const CallbackContext& context,
                         const std::string& name, const config::Location& at) {
  std::vector<std::string> known;
  for (const KnownLog& log : context.logs) {
    if (log.name == name) return log;
    known.push_back(log.name);
  }
  const bool wants_validation = name.starts_with("val_") && !context.config.fit.validation;
  if (wants_validation) {
    fail_at(at,
            "{}: monitor '{}' needs validation, and there is none; set fit.validation or "
            "validation_split, or monitor '{}'",
            args.what(), name, name.substr(4));
  }
  fail_at(at, "{}: the run logs no '{}' to monitor{}", args.what(), name, suggestion(name, known));
}

}  // namespace

Monitor::Monitor(config::Reader& args, const CallbackContext& context, double min_delta)
    : name_(args.get("monitor", "val_loss")), min_delta_(std::abs(min_delta)) {
  const config::Value* given = args.find("monitor");
  const config::Location& at = given != nullptr ? given->at : args.at();
  const KnownLog& log = find_log(args, context, name_, at);
  const auto greater =
      args.choose("mode", log.greater_is_better,
                  {{"auto", log.greater_is_better}, {"min", false}, {"max", true}});
  if (!greater) {
    fail_at(at, "{}: it cannot be said whether '{}' should rise or fall; give mode: min or max",
            args.what(), name_);
  }
  greater_is_better_ = *greater;
}

std::optional<double> Monitor::find(const Logs& logs) const {
  const auto found = logs.find(name_);
  if (found == logs.end()) return std::nullopt;
  return found->second;
}

bool Monitor::improves(double value, std::optional<double> reference) const {
  if (!reference) return true;
  const auto best = static_cast<float>(*reference);
  if (greater_is_better_) return static_cast<float>(value - min_delta_) > best;
  return static_cast<float>(value + min_delta_) < best;
}

void Monitor::add_to(Json& state) const {
  state["monitor"] = name_;
  state["mode"] = mode();
}

bool Monitor::has_judged(const Json& state, std::string_view callback, Training& training) const {
  // Older states do not say.
  const std::string name = state.value("monitor", name_);
  const std::string other_mode = state.value("mode", mode());
  if (name == name_ && other_mode == mode()) return true;
  training.say(
      fmt::format("note: {} begins anew with the best {} (mode {}); the run that is resumed went "
                  "by {} (mode {})",
                  callback, name_, mode(), name, other_mode));
  return false;
}

bool read_verbose(config::Reader& args) {
  const config::Value* verbose = args.find("verbose");
  if (verbose == nullptr) return false;
  return verbose->is_bool() ? verbose->as_bool("verbose") : verbose->as_integer("verbose") > 0;
}

std::string python_text(double value) {
  std::string text = fmt::format("{}", without_nan_sign(value));
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

}  // namespace meshwork
