#include <charconv>
#include <cmath>

#include "config/sections.h"

namespace meshwork::config {
namespace {

using Unit = CheckpointSpec::Unit;

struct Period {
  double count = 1;
  Unit unit = Unit::kEpochs;
};

/// Words for a unit, and how many of it one is.
struct UnitWord {
  std::string_view word;
  Unit unit;
  double count = 1;
};
constexpr UnitWord kUnits[] = {
    {"epoch", Unit::kEpochs},        {"epochs", Unit::kEpochs},   {"step", Unit::kSteps},
    {"steps", Unit::kSteps},         {"s", Unit::kSeconds},       {"second", Unit::kSeconds},
    {"seconds", Unit::kSeconds},     {"min", Unit::kSeconds, 60}, {"minute", Unit::kSeconds, 60},
    {"minutes", Unit::kSeconds, 60}, {"h", Unit::kSeconds, 3600}, {"hour", Unit::kSeconds, 3600},
    {"hours", Unit::kSeconds, 3600},
};

/// "500 steps", "epoch"; nothing where it is none.
std::optional<Period> period_of(const std::string& text) {
  Period period;
  const char* end = text.data() + text.size();
  const auto [number_end, code] = std::from_chars(text.data(), end, period.count);
  if (code == std::errc::result_out_of_range) return std::nullopt;
  const char* unit = number_end;
  while (unit != end && *unit == ' ') ++unit;
  for (const UnitWord& known : kUnits) {
    if (known.word != std::string_view(unit, static_cast<std::size_t>(end - unit))) continue;
    const double count = period.count * known.count;
    const bool is_whole = known.unit == Unit::kSeconds || count == std::floor(count);
    if (count > 0 && count <= 1e9 && is_whole) return Period{count, known.unit};
  }
  return std::nullopt;
}

}  // namespace

CheckpointSpec read_checkpoint(const Value* checkpoint, const Value* resume, const Location& file) {
  CheckpointSpec spec;
  spec.at = checkpoint != nullptr ? checkpoint->at : file;
  if (resume != nullptr) {
    spec.resume = choose<bool>(*resume, "resume", {{"auto", true}, {"never", false}});
  }
  if (checkpoint == nullptr) return spec;
  if (checkpoint->is_scalar()) {
    spec.wanted = checkpoint->as_bool("checkpoint");
    return spec;
  }
  if (!checkpoint->is_map()) {
    fail_at(checkpoint->at,
            "checkpoint must be true, false or a map such as {{every: 500 steps, keep: 3}}, not {}",
            describe(*checkpoint));
  }
  Reader reader(*checkpoint, "checkpoint");
  if (const Value* every = reader.find("every")) {
    const std::string text = every->as_string("checkpoint: every");
    const std::optional<Period> period = period_of(text);
    if (!period) {
      fail_at(every->at,
              "checkpoint: every is '{}'; give epochs, steps or a time: 1 epoch, 500 steps, 10 min",
              text);
    }
    spec.every = period->count;
    spec.unit = period->unit;
  }
  spec.keep = reader.get("keep", spec.keep, at_least(1));
  spec.best = reader.get("best", "");
  spec.async = reader.get("async", spec.async);
  spec.fallback = reader.get("fallback", "");
  reader.finish();
  return spec;
}

double read_stall_timeout(const Value& value) {
  const std::string text = value.as_string("stall_timeout");
  if (text == "never") return 0;
  const std::optional<Period> period = period_of(text);
  if (!period || period->unit != Unit::kSeconds) {
    fail_at(value.at, "stall_timeout is '{}'; give a time, such as 120 s or 10 min, or never",
            text);
  }
  return period->count;
}

}  // namespace meshwork::config
